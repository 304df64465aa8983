"""Which backend a job is submitted with: one that is there, and that can be asked."""

from __future__ import annotations

from paislurm.backends.registry import AUTO

from ...errors import BackendError
from ..context import backend

PYSLURM = "pyslurm"


def choose_backend(name: str) -> str:
    """Return the name of a backend, for `auto` of the one that it stands for here.

    Raises UsageError where there is none of the name, and BackendError where pyslurm is asked for and cannot be used.
    """
    if name not in (AUTO, PYSLURM):
        backend(name)
        return name
    from paislurm.backends.pyslurm.backend import PyslurmBackend

    chosen = backend(PYSLURM)
    assert isinstance(chosen, PyslurmBackend)
    try:
        chosen.check()
    except BackendError:
        if name != AUTO:
            raise
        return "slurm"
    return PYSLURM

"""Which backend a job is submitted with: one that is there, and that can be asked."""

from __future__ import annotations

from paislurm.backends.registry import AUTO, OVER_API

from ...errors import BackendError
from ..context import backend


def choose_backend(name: str) -> str:
    """Return the name of a backend, for `auto` of the one that it stands for here.

    Raises UsageError where there is none of the name, and BackendError where its API of Slurm cannot be used.
    """
    if name == AUTO:
        try:
            return choose_backend("pyslurm")
        except BackendError:
            return "slurm"
    chosen = backend(name)
    if name in OVER_API:
        from paislurm.backends.slurm.api import ApiBackend

        assert isinstance(chosen, ApiBackend)
        chosen.check()
    return name

"""Which backend a job is submitted with: one that is there, and that can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..session import Session

from paislurm.backends.registry import AUTO

from ...errors import BackendError


def choose_backend(session: Session, name: str) -> str:
    """Return the name of a backend, for `auto` of the one that it stands for here.

    Raises UsageError where there is none of the name, and BackendError where pyslurm cannot be used.
    """
    if name == AUTO:
        try:
            return choose_backend(session, "pyslurm")
        except BackendError:
            return "slurm"
    chosen = session.backend(name)
    if name == "pyslurm":
        from paislurm.backends.pyslurm.backend import PyslurmBackend

        assert isinstance(chosen, PyslurmBackend)
        chosen.check()
    return name

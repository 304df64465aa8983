"""The backends by name. What only one of them needs is imported when that one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from paislurm.translator.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .base import Backend, JobId

    Components: TypeAlias = Callable[[JobId], int]
    Charge: TypeAlias = Callable[[Sequence[str], float, bool], None]


def _slurm(_: Path, components: Components, charge: Charge) -> Backend:
    from .billed_runner import BilledRunner
    from .runner import LocalRunner
    from .slurm.backend import SlurmBackend

    return SlurmBackend(BilledRunner(LocalRunner(), charge), components)


def _local(home: Path, _: Components, __: Charge) -> Backend:
    from .local.backend import LocalBackend

    return LocalBackend(home)


BACKENDS: dict[str, Callable[[Path, Components, Charge], Backend]] = {"slurm": _slurm, "local": _local}


def backend(
    name: str, home: Path, components: Components = lambda _: 1, charge: Charge = lambda _, __, ___: None
) -> Backend:
    """Return the backend of that name.

    `home` is where it may keep records; `components` tells how many components the script of a job has; `charge` is
    told of each program of Slurm that is called, as by `BilledRunner`.
    """
    if name not in BACKENDS:
        known = ", ".join(sorted(BACKENDS))
        raise UsageError(Diagnostic(code="E505", message=f"there is no backend '{name}'", hint=f"there are: {known}"))
    return BACKENDS[name](home, components, charge)

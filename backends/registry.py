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
    Say: TypeAlias = Callable[[str], None]


def _slurm(_: Path, components: Components, charge: Charge, __: Say) -> Backend:
    from .billed_runner import BilledRunner
    from .runner import LocalRunner
    from .slurm.backend import SlurmBackend

    return SlurmBackend(BilledRunner(LocalRunner(), charge), components)


def _pyslurm(_: Path, components: Components, charge: Charge, say: Say) -> Backend:
    from .billed_runner import BilledRunner
    from .pyslurm.api import PyslurmApi
    from .pyslurm.process import Process
    from .runner import LocalRunner
    from .slurm.api import ApiBackend
    from .slurm.backend import SlurmBackend

    programs = SlurmBackend(BilledRunner(LocalRunner(), charge), components)
    return ApiBackend("pyslurm", programs, PyslurmApi(programs, Process(charge)), components, say)


def _slurmrestd(_: Path, components: Components, charge: Charge, say: Say) -> Backend:
    from .billed_runner import BilledRunner
    from .runner import LocalRunner
    from .slurm.api import ApiBackend
    from .slurm.backend import SlurmBackend
    from .slurmrestd.api import RestApi
    from .slurmrestd.client import RestClient

    programs = SlurmBackend(BilledRunner(LocalRunner(), charge), components)
    return ApiBackend("slurmrestd", programs, RestApi(programs, RestClient(charge)), components, say)


def _local(home: Path, _: Components, __: Charge, ___: Say) -> Backend:
    from .local.backend import LocalBackend

    return LocalBackend(home)


BACKENDS: dict[str, Callable[[Path, Components, Charge, Say], Backend]] = {
    "slurm": _slurm,
    "pyslurm": _pyslurm,
    "slurmrestd": _slurmrestd,
    "local": _local,
}
OVER_API = ("pyslurm", "slurmrestd")
"""Backends that ask an API of Slurm in the place of its programs."""
OF_THIS_SLURM = ("slurm", *OVER_API)
"""Backends with which the Slurm of this machine runs scripts."""
AUTO = "auto"
"""Stands for `pyslurm` where that can be asked, and else for `slurm`."""


def backend(
    name: str,
    home: Path,
    components: Components = lambda _: 1,
    charge: Charge = lambda _, __, ___: None,
    say: Say = lambda _: None,
) -> Backend:
    """Return the backend of that name.

    `home` is where it may keep records; `components` tells how many components the script of a job has; `charge` is
    told of each program of Slurm that is called, as by `BilledRunner`; `say` is told what a person should know.
    """
    if name not in BACKENDS:
        known = ", ".join(sorted((AUTO, *BACKENDS)))
        raise UsageError(Diagnostic(code="E505", message=f"there is no backend '{name}'", hint=f"there are: {known}"))
    return BACKENDS[name](home, components, charge, say)

"""The backends by name. What only one of them needs is imported when that one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from .base import Backend, JobId, RunFolder
    from .runner import Charge

    Components: TypeAlias = Callable[[JobId], int]
    Say: TypeAlias = Callable[[str], None]
    RunFolders: TypeAlias = Callable[[Collection[JobId], Collection[str]], Sequence[RunFolder]]

SSH = "ssh:"
"""Before the address of a login node, in the name of a backend."""


def is_elsewhere(name: str) -> bool:
    """Tell whether a backend has the folders of jobs elsewhere than on this machine's file systems."""
    return name.startswith(SSH)


class BackendDependencies(Struct, frozen=True, kw_only=True):
    """Hold what backends work with.

    `home` is where they may keep records; `components` tells how many components the script of a job has; `charge` is
    told of each program of Slurm that is called, as by `BilledRunner`; `say` is told what a person should know;
    `run_folders` tells where the jobs of some ids and tags are; `transport` is how login nodes are reached, `auto`,
    `fabric` or `ssh`.
    """

    home: Path
    components: Components = lambda _: 1
    charge: Charge = lambda _, __, ___: None
    say: Say = lambda _: None
    run_folders: RunFolders = lambda _, __: ()
    transport: str = "auto"


def _slurm(dependencies: BackendDependencies) -> Backend:
    from .runner import BilledRunner, LocalRunner
    from .slurm.backend import SlurmBackend

    return SlurmBackend(BilledRunner(LocalRunner(), dependencies.charge), dependencies.components)


def _pyslurm(dependencies: BackendDependencies) -> Backend:
    from .pyslurm.backend import PyslurmBackend
    from .pyslurm.process import Process
    from .runner import BilledRunner, LocalRunner

    runner, process = BilledRunner(LocalRunner(), dependencies.charge), Process(dependencies.charge)
    return PyslurmBackend(runner, process, dependencies.components, dependencies.say)


def _local(dependencies: BackendDependencies) -> Backend:
    from .local.backend import LocalBackend

    return LocalBackend(dependencies.home)


def _ssh(host: str, dependencies: BackendDependencies) -> Backend:
    from .ssh.backend import SshBackend
    from .ssh.remote_files import Removals
    from .ssh.transport import choose_transport, parse_address

    address = parse_address(host)
    transport = choose_transport(address, dependencies.transport)
    removals = Removals(dependencies.home / "ssh" / str(address) / "to-remove")
    tells = dependencies.components, dependencies.charge, dependencies.run_folders
    return SshBackend(address, transport, removals, *tells)


BACKENDS: dict[str, Callable[[BackendDependencies], Backend]] = {
    "slurm": _slurm,
    "pyslurm": _pyslurm,
    "local": _local,
}
OF_THIS_SLURM = ("slurm", "pyslurm")
"""Backends with which the Slurm of this machine runs scripts."""
AUTO = "auto"
"""Stands for `pyslurm` where that can be asked, and else for `slurm`."""


def backend(name: str, dependencies: BackendDependencies) -> Backend:
    """Return the backend of that name; `ssh:HOST` is Slurm at a login node."""
    if is_elsewhere(name):
        return _ssh(name.removeprefix(SSH), dependencies)
    if name not in BACKENDS:
        known = ", ".join(sorted((AUTO, *BACKENDS)))
        raise UsageError(Diagnostic(code="E505", message=f"there is no backend '{name}'", hint=f"there are: {known}"))
    return BACKENDS[name](dependencies)

"""The backends by name. Each backend is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from paislurm.translator.errors import Diagnostic, UsageError

from .base import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .base import Backend, JobId, RunFolders
    from .runner import CallEnd, Environment, LogCall

    Components: TypeAlias = Callable[[JobId], int]
    Say: TypeAlias = Callable[[str], None]

SSH = "ssh:"
"""The prefix of an SSH backend's name; the address of a login node follows."""


def is_remote(name: str) -> bool:
    """Return whether a backend keeps job folders on remote file systems."""
    return name.startswith(SSH)


class BackendDependencies(Struct, frozen=True, kw_only=True):
    """Hold the dependencies of backends.

    `home` is the folder for their records. `environment` returns the caller's environment. `components` returns the
    number of components in a job's script. `log_call` logs each call of a Slurm program (see `LoggingRunner`). `say`
    reports a message to the user. `run_folders` returns the run folders of jobs by ids and tags. `transport` is the way
    to reach login nodes: `auto`, `fabric` or `ssh`.
    """

    home: Path
    environment: Environment
    components: Components = lambda _: 1
    log_call: LogCall = lambda _, __, ___: None
    say: Say = lambda _: None
    run_folders: RunFolders = lambda _, __: ()
    transport: str = "auto"


def _slurm(dependencies: BackendDependencies) -> Backend:
    from .runner import LocalRunner, LoggingRunner
    from .slurm.backend import SlurmBackend

    runner = LoggingRunner(LocalRunner(dependencies.environment), dependencies.log_call)
    return SlurmBackend(runner, dependencies.components, dependencies.environment, dependencies.run_folders)


def _pyslurm(dependencies: BackendDependencies) -> Backend:
    from .pyslurm.backend import PyslurmBackend
    from .runner import LocalRunner, LoggingRunner

    def log_helper(argv: Sequence[str], cpu: float, end: CallEnd) -> None:
        dependencies.log_call(("pyslurm", argv[-1]), cpu, end)

    environment = dependencies.environment
    runner, helper = (LoggingRunner(LocalRunner(environment), log) for log in (dependencies.log_call, log_helper))
    callbacks = dependencies.components, dependencies.say, environment, dependencies.run_folders
    return PyslurmBackend(runner, helper, *callbacks)


def _local(dependencies: BackendDependencies) -> Backend:
    from .local.backend import LocalBackend

    return LocalBackend(dependencies.home, dependencies.environment)


def _ssh(host: str, dependencies: BackendDependencies) -> Backend:
    from .ssh.backend import SshBackend
    from .ssh.remote_files import Removals
    from .ssh.transport import choose_transport, parse_address

    address = parse_address(host)
    transport = choose_transport(address, dependencies.transport)
    removals = Removals(dependencies.home / "ssh" / str(address) / "to-remove")
    callbacks = dependencies.components, dependencies.log_call, dependencies.run_folders
    return SshBackend(address, transport, removals, *callbacks)


BACKENDS: dict[str, Callable[[BackendDependencies], Backend]] = {
    "slurm": _slurm,
    "pyslurm": _pyslurm,
    LOCAL: _local,
}
OF_THIS_SLURM = ("slurm", "pyslurm")
"""Backends that run scripts with this machine's Slurm."""
AUTO = "auto"
"""`pyslurm` if it is usable, else `slurm`."""


def backend(name: str, dependencies: BackendDependencies) -> Backend:
    """Return a backend by name; `ssh:HOST` is Slurm at a login node. Raises UsageError for an unknown name."""
    if is_remote(name):
        return _ssh(name.removeprefix(SSH), dependencies)
    if name not in BACKENDS:
        known = ", ".join(sorted((AUTO, *BACKENDS)))
        raise UsageError(Diagnostic(code="E505", message=f"unknown backend '{name}'", hint=f"use one of: {known}"))
    return BACKENDS[name](dependencies)

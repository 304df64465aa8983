"""Reach a login node with the `ssh` program; all processes of a user share its connection (ControlMaster).

This works for login nodes with second factors: a person opens the connection, and paislurm never answers a prompt.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paislurm.translator.errors import UnreachableError
from paislurm.translator.files.private import open_private, remove

from ..bounded_run import TooLongError, run_bounded
from ..runner import become, without_token
from . import faults
from .openssh import no_new_keys, scanned_key, socket_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..bounded_run import Enough
    from .transport import Address, Sent

CHECK_SECONDS, OPEN_SECONDS = 10.0, 45.0
_BROKEN = 255
"""The status of ssh after an error of its own. Source: ssh(1), EXIT STATUS."""
_NO_CONNECTION = "UNKNOWN port 65535"
"""The message of ssh if it finds no shared connection and may not open one itself."""
ALWAYS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "LogLevel=INFO",
)
"""Ask nothing, trust no unknown key, forward nothing, and print errors. Source: ssh_config(5)."""
OF_THE_MASTER = (
    "ControlMaster=yes",
    "ControlPersist=10m",
    "ConnectTimeout=15",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
)
"""Give up a connection that is silent for 15 s; close one that is unused for ten minutes."""
SHARED = ("ControlMaster=no", "ProxyCommand=false")
"""Use an existing connection only: without one, the call fails and never logs in by itself."""


class ProgramTransport:
    """Run `ssh` and `sftp` over one connection. The first call opens it; it stays open for ten idle minutes."""

    name = "ssh"

    def __init__(self, address: Address) -> None:
        self._address = address
        self._is_open = False

    def has_master(self) -> bool:
        """Return whether a shared connection is open. Remove the socket of one that does not respond."""
        try:
            argv = ["ssh", "-O", "check", *self._options(()), self._address.host]
        except UnreachableError:
            return False
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=CHECK_SECONDS, check=False
            )
        except FileNotFoundError:
            return False
        except subprocess.TimeoutExpired:
            remove(Path(self._socket))
            return False
        return not done.returncode

    def exchange(self, line: str, stdin: bytes, timeout: float, enough: Enough) -> tuple[bytes, bytes]:
        after = [self._address.host, line]
        status, stdout, stderr = self._run_over_connection(["ssh", "-T"], after, stdin, timeout, enough=enough)
        if status == _BROKEN and not enough(stdout, stderr):
            raise ConnectionError
        return stdout, stderr

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        steps = (
            f"put {_quoted(str(each.local))} {_quoted(each.remote)}\nchmod {each.mode:o} {_quoted(each.remote)}\n"
            for each in files
        )
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        batch = "".join(steps).encode(errors="surrogateescape")
        try:
            status, _, stderr = self._run_over_connection(["sftp", "-q", "-b", "-"], [host], batch, timeout)
        except TooLongError:
            raise faults.broken(self._address, "sftp (endless output)") from None
        words = stderr.decode(errors="replace")
        if status and faults.NOT_WRITTEN.search(words):
            raise faults.not_written(self._address, words)
        if status:
            raise faults.broken(self._address, f"sftp ({words.strip() or 'no message'})")

    def attach(self, line: str, *, terminal: bool) -> int:
        """Replace this process by `ssh`, which inherits terminal and signals."""
        self._open()
        argv = ["ssh", "-tt" if terminal else "-T", *self._options(SHARED), self._address.host, line]
        become(argv, without_token(os.environ))

    def _run_over_connection(
        self, before: Sequence[str], after: Sequence[str], stdin: bytes, timeout: float, **options: Any
    ) -> tuple[int, bytes, bytes]:
        """Run a program over the shared connection; if the connection has closed, reopen it once."""
        done = self._try(before, after, stdin, timeout, **options)
        if _found_no_connection(*done):
            self._is_open = False
            done = self._try(before, after, stdin, timeout, **options)
            if _found_no_connection(*done):
                raise faults.not_reached(self._address, "the shared connection takes no more sessions")
        self._is_open = done[0] in (0, 1)
        return done

    def _try(
        self, before: Sequence[str], after: Sequence[str], stdin: bytes, timeout: float, **options: Any
    ) -> tuple[int, bytes, bytes]:
        self._open()
        return self._run([*before, *self._options(SHARED), *after], stdin, timeout, **options)

    def _open(self) -> None:
        """Open the shared connection unless it exists; a lock lets only one process log in."""
        if self._is_open:
            return
        with open_private(Path(socket_path(self._settings, self._address.host) + ".lock"), "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.has_master():
                self._log_in()
        self._is_open = True

    def _log_in(self) -> None:
        remove(Path(self._socket))
        argv = ["ssh", "-N", "-f", *self._options(OF_THE_MASTER), self._address.host]
        # A file, not a pipe: the connection stays open and may keep it open.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=_without_prompts(), check=False,
                    timeout=OPEN_SECONDS, start_new_session=True,
                )  # fmt: skip
            except FileNotFoundError:
                raise faults.not_reached(self._address, "`ssh` is not on PATH; install OpenSSH's client") from None
            except subprocess.TimeoutExpired:
                raise faults.not_reached(self._address, f"login timed out after {OPEN_SECONDS:.0f} s") from None
            output.seek(0)
            words = output.read().decode(errors="replace")
        if done.returncode:
            raise self._error(words)

    def _error(self, words: str) -> UnreachableError:
        error = faults.of_words(self._address, words, command=self.command)
        if error is None:
            return faults.not_reached(self._address, words)
        if error.diagnostics[0].code == "E551":
            return faults.unknown_key(self._address, *scanned_key(self._settings, self._address.host))
        return error

    @property
    def command(self) -> str:
        """The command with which a person opens the shared connection."""
        path = "" if self._has_own_path else f" -o ControlPath={self._socket}"
        return f"ssh -fNM{path}{self._address.command.removeprefix('ssh')}"

    def _options(self, more: Sequence[str]) -> list[str]:
        settings = [*ALWAYS, *more, f"ControlPath={self._socket}", *self._named]
        return [*no_new_keys(), *(word for setting in settings for word in ("-o", setting))]

    @property
    def _named(self) -> list[str]:
        address = self._address
        return [
            *([f"User={address.user}"] if address.user else []),
            *([f"Port={address.port}"] if address.port else []),
        ]

    @cached_property
    def _settings(self) -> dict[str, str]:
        """The configuration of ssh for this host. Source: ssh(1), -G."""
        options = (word for setting in self._named for word in ("-o", setting))
        argv = ["ssh", "-G", *no_new_keys(), *options, self._address.host]
        status, stdout, stderr = self._run(argv, b"", CHECK_SECONDS)
        if status:
            raise faults.not_reached(self._address, stderr.decode(errors="replace"))
        lines = (line.partition(" ") for line in stdout.decode(errors="replace").splitlines())
        return {name: value for name, _, value in lines}

    @property
    def _has_own_path(self) -> bool:
        return self._settings.get("controlpath", "none") != "none"

    @cached_property
    def _socket(self) -> str:
        return self._settings["controlpath"] if self._has_own_path else socket_path(self._settings, self._address.host)

    def _run(self, argv: Sequence[str], stdin: bytes, timeout: float, **options: Any) -> tuple[int, bytes, bytes]:
        try:
            done = run_bounded(argv, stdin, timeout=timeout, env=_without_prompts(), start_new_session=True, **options)
        except FileNotFoundError:
            raise faults.not_reached(self._address, f"`{argv[0]}` is not on PATH; install OpenSSH's client") from None
        return (-1 if done.status is None else done.status), done.stdout, done.stderr


def _found_no_connection(status: int, stdout: bytes, stderr: bytes) -> bool:
    return status == _BROKEN and not stdout and _NO_CONNECTION.encode() in stderr


def _without_prompts() -> dict[str, str]:
    """Return the environment without DISPLAY and askpass, so that ssh opens no window, and without Slurm's token."""
    own = without_token(os.environ)
    return {**{name: value for name, value in own.items() if name != "DISPLAY"}, "SSH_ASKPASS_REQUIRE": "never"}


def _quoted(text: str) -> str:
    """Quote a word for an sftp batch file. Source: sftp(1): quotes, and a backslash before special characters."""
    escaped = "".join(f"\\{char}" if char in '\\"*?[]' else char for char in text)
    return f'"{escaped}"'

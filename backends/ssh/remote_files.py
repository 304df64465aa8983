"""Write remote folders atomically, and record paths that are still to be removed."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.files.private import appending, make_private

from .ssh_runner import remote_script
from .transport import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from .ssh_runner import SshRunner
    from .transport import Transport

SECONDS = 60.0
MAX_MESSAGE_CHARACTERS = 300


def upload(runner: SshRunner, transport: Transport, files: Iterable[tuple[Path, str]], name: str) -> None:
    """Write files, each with its path in the folder, into the new remote folder `name`.

    If a folder of that name exists, an earlier call made it. Raises UnreachableError, and RejectedError if the disk
    is full.
    """
    files = list(files)
    parent, _, last = name.rpartition("/")
    new = f"{parent}/.new-{last}"
    folders = sorted({path.rpartition("/")[0] for _, path in files} - {""})
    _run(runner, remote_script("stage", new, *folders), b"", name)
    transport.put([Sent(local, f"{new}/{path}", local.stat().st_mode & 0o777) for local, path in files], SECONDS)
    sums = "".join(f"{sha256(local.read_bytes()).hexdigest()}  {path}\n" for local, path in files)
    _run(runner, remote_script("publish", new, name), sums.encode(errors="surrogateescape"), name)


def _run(runner: SshRunner, argv: list[str], stdin: bytes, name: str) -> None:
    done = runner.exchange(argv, stdin=stdin, timeout=SECONDS)
    if done.status:
        words = done.stderr.decode(errors="replace").strip()
        message = f"cannot write {name} at the login node: {words[:MAX_MESSAGE_CHARACTERS] or 'no reason given'}"
        hint = "check on the login node whether the file system or a quota is full: `df -h ~`, `quota`"
        diagnostic = Diagnostic(code="E510", message=message, hint=hint)
        raise RejectedError(diagnostic, argv=tuple(argv[:1]), status=done.status, stderr=words)


class Removals:
    """The list of remote paths to remove, in a file that outlives this process.

    Each line is a path relative to the remote folder of all jobs.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, *paths: str) -> None:
        """Add paths to the list. Raises OSError if it cannot be written."""
        make_private(self._file.parent)
        with self._locked() as descriptor:
            os.write(descriptor, "".join(f"{path}\n" for path in paths).encode())
            os.fsync(descriptor)

    def due(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    def done(self, paths: Sequence[str]) -> None:
        """Remove paths from the list."""
        with self._locked() as descriptor:
            left = [path for path in self.due() if path not in paths]
            os.ftruncate(descriptor, 0)
            os.write(descriptor, "".join(f"{path}\n" for path in left).encode())

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with appending(self._file) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor

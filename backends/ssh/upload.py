"""Send the files of a job to a login node: a folder there comes to be whole, with its modes, or not at all."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from paislurm.translator.errors import Diagnostic, RejectedError

from .remote_script import remote_script
from .transport import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .runner import SshRunner
    from .transport import Transport

SECONDS = 60.0
MAX_WORDS = 300


def upload(runner: SshRunner, transport: Transport, files: Iterable[tuple[Path, str]], name: str) -> None:
    """Write files, each with its path in the folder there, into a new folder of that `name`.

    A folder of that name that is there already came of an earlier try. Raises UnreachableError, and RejectedError
    where there is no room.
    """
    files = list(files)
    parent, _, last = name.rpartition("/")
    new = f"{parent}/.new-{last}"
    folders = sorted({path.rpartition("/")[0] for _, path in files} - {""})
    _run(runner, remote_script("stage", new, *folders), b"", name)
    transport.put([Sent(here, f"{new}/{path}", here.stat().st_mode & 0o777) for here, path in files], SECONDS)
    sums = "".join(f"{_digest(here)}  {path}\n" for here, path in files)
    _run(runner, remote_script("publish", new, name), sums.encode(errors="surrogateescape"), name)


def _run(runner: SshRunner, argv: list[str], stdin: bytes, name: str) -> None:
    done = runner.exchange(argv, stdin=stdin, timeout=SECONDS)
    if done.status:
        words = done.stderr.decode(errors="replace").strip()
        message = f"cannot write {name} at the login node: {words[:MAX_WORDS] or 'no reason is given'}"
        hint = "see there whether its file system or a quota is full: `df -h ~`, `quota`"
        diagnostic = Diagnostic(code="E510", message=message, hint=hint)
        raise RejectedError(diagnostic, argv=tuple(argv[:1]), status=done.status, stderr=words)


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()

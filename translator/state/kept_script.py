"""Read or shrink an attempt's script: a tidied attempt keeps its head, and the home keeps each runtime once.

A script is its head, a seal of two lines, and the runtime; the seal contains the runtime's SHA-256. Source: this
project's docs, script.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from ..files.names import SCRIPT
from ..files.open_folder import replace_file
from ..files.private import make_private, write_durably
from ..files.reading import open_regular, read_end
from ..files.shared_files import time_written

if TYPE_CHECKING:
    from ..files.open_folder import OpenFolder
    from .job_folder import JobFolder

MAX_BYTES = 64 << 20
HEAD = "job.head"
_SEAL = re.compile(
    rb"# ---- paislurm runtime \S+, sha256 ([0-9a-f]{64}): [^\n]*\n# ---- head as compiled, sha256 [0-9a-f]{64} ----\n",
    re.ASCII,
)


def read_script(folder: JobFolder, attempt: int) -> bytes:
    """Return the script of an attempt exactly as submitted, even if the attempt has been tidied.

    Raises FileNotFoundError if the attempt has no script, FolderError if its runtime is lost.
    """
    path = folder.script(attempt)
    try:
        return _read(path)
    except FileNotFoundError:
        try:
            head = _read(path.with_name(HEAD))
        except FileNotFoundError:
            # Another process may have tidied the attempt meanwhile.
            return _read(path)
    parts = split(head)
    digest = parts[2] if parts else ""
    runtime = _runtime_file(runtimes(folder.path), digest)
    body = _body(runtime, time_written(runtime))
    if body is None:
        message = f"the runtime of {folder.name} cannot be read: {runtime} is missing or damaged"
        hint = f"read the job's own part of the script in {path.with_name(HEAD)}"
        raise FolderError(Diagnostic(code="E590", message=message, hint=hint))
    return head + body


def split(script: bytes) -> tuple[bytes, bytes, str] | None:
    """Return the head with its seal, the runtime, and the SHA-256 in the seal; None without a seal."""
    # Search from the end: a text of the job file may contain a line like the seal, the runtime never does.
    start = script.rfind(b"\n# ---- paislurm runtime ") + 1
    seal = _SEAL.match(script, start) if start else None
    return (script[: seal.end()], script[seal.end() :], seal[1].decode()) if seal else None


def shrink(attempt: OpenFolder, kept: Path) -> bool:
    """Keep only the head of the script, after storing the runtime below `kept`. Raises OSError.

    Return False if the script stays: it has no seal, or its runtime differs from the sealed one.
    """
    try:
        script = attempt.read(SCRIPT, MAX_BYTES)
    except FileNotFoundError:
        return True
    from gzip import compress
    from hashlib import sha256

    parts = split(script)
    if parts is None or sha256(parts[1]).hexdigest() != parts[2]:
        return False
    head, body, digest = parts
    file = _runtime_file(kept, digest)
    if _body(file, time_written(file)) is None:
        make_private(kept)
        # mtime=0: equal runtimes must give equal files.
        write_durably(file, compress(body, mtime=0))
    if _body(file, time_written(file)) != body:
        return False
    replace_file(attempt, HEAD, head)
    attempt.drop(SCRIPT)
    for name in attempt.names():
        # Remove partial files of killed or concurrent processes.
        if name.startswith(f".{HEAD}.new-"):
            attempt.drop(name)
    return True


def runtimes(job: Path) -> Path:
    """Return the folder of the runtimes of all jobs in a home."""
    return job.parent.parent / "runtime"


def _runtime_file(kept: Path, digest: str) -> Path:
    return kept / f"{digest}.sh.gz"


def _read(path: Path) -> bytes:
    data, whole = read_end(path, MAX_BYTES)
    if not whole:
        raise FileNotFoundError(None, "too large for a script", str(path))
    return data


@lru_cache(maxsize=8)
def _body(file: Path, written: int) -> bytes | None:
    """Return the runtime in a file, None if its digest is not the file's name; `written` is the file's time."""
    import gzip
    import zlib
    from hashlib import sha256

    if not written:
        return None
    try:
        with os.fdopen(open_regular(file), "rb") as packed, gzip.open(packed) as unpacked:
            body = unpacked.read(MAX_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
    return body if f"{sha256(body).hexdigest()}.sh.gz" == file.name else None

"""Read the job file, its parameters and the script with which a job was submitted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...files.names import JOB_FILE
from ...state.kept_script import HEAD, split
from ..results.tail import open_log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...state.history import History
    from ...state.job_folder import JobFolder


def read_owned(folder: JobFolder, path: Path, limit: int) -> bytes:
    """Return a file of a job; b"" if it is missing, larger than `limit`, or owned by another user."""
    try:
        with os.fdopen(open_log(path, folder.path.stat().st_uid), "rb") as file:
            data = file.read(limit + 1)
    except OSError:
        return b""
    return data if len(data) <= limit else b""


MAX_BYTES = 4 << 20


def parameters_of(folder: JobFolder) -> Mapping[str, str]:
    """Return the parameters of the submitted job file; {} if it cannot be read."""
    from ...errors import ProtocolError
    from ...reading.read import read

    text = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    try:
        return texts(read(text, file=JOB_FILE).at(("parameters",))) if text else {}
    except ProtocolError:
        return {}


def texts(value: object) -> Mapping[str, str]:
    """Return a mapping with its values as text; {} for another type."""
    return {str(key): _text(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def submitted_files(folder: JobFolder, known: History) -> tuple[str, str]:
    """Return the submitted job file and the head of the newest script; "" for one that the owner does not have."""
    job = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    scripts = (_script(folder, attempt) for attempt in range(known.attempt, -1, -1))
    script = next(filter(None, scripts), b"")
    sealed = split(script)
    head = sealed[0] if sealed else script
    return job.decode(errors="replace").removeprefix("\ufeff"), head.decode(errors="replace")


def _script(folder: JobFolder, attempt: int) -> bytes:
    """Return the script of an attempt, or its head after tidying; b"" if the owner has neither."""
    script = folder.script(attempt)
    return read_owned(folder, script, MAX_BYTES) or read_owned(folder, script.with_name(HEAD), MAX_BYTES)

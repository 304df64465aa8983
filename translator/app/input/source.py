"""The source of a job: a job file, its site profile, and options that change it; also from a call of the Python API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, field

from ...errors import Diagnostic, UsageError

STDIN = "-"
SLURM_OPTIONS = ("time", "partition", "account", "qos")
"""Keys of `extras.slurm` that are also options; these override the job file and the profile."""


class Source(Struct, frozen=True, kw_only=True):
    """A job file (`-` is standard input), its site profile, and options that change it.

    `text` replaces the contents of the job file, None to read it; `submit_folder` is "" for the current folder.
    `most_tasks` limits the tasks of each role, for a small copy of the job.
    `typed` contains options for messages, by the paths of the values that they replace.
    """

    file: str
    site: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    suffix: str = ""
    secrets: str | None = None
    slurm: tuple[tuple[str, str], ...] = ()
    backend: str = "slurm"
    host: str | None = None
    text: bytes | None = None
    submit_folder: str = ""
    most_tasks: int | None = None
    typed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        # The text may contain secrets.
        return f"Source(file={self.file!r})"


JobFile: TypeAlias = "str | os.PathLike[str] | bytes"
"""The path of a job file, or its text as bytes."""
Parameter: TypeAlias = "str | int | float"
"""A value of a parameter; text is parsed like `--set NAME=VALUE`, so "0.1" is a number."""


def source_of(
    file: JobFile,
    parameters: Mapping[str, Parameter] | None = None,
    suffix: str = "",
    secrets: str | os.PathLike[str] | None = None,
    slurm: Mapping[str, str] | None = None,
    *,
    backend: str = "slurm",
    host: str | None = None,
) -> Source:
    """Return the source and its options. Raises UsageError for `host` with a backend other than slurm."""
    if host is not None and backend != "slurm":
        message = f"host cannot be used with the backend {backend}"
        raise UsageError(Diagnostic(code="E505", message=message))
    return Source(
        file=STDIN if isinstance(file, bytes) else _path(file),
        text=file if isinstance(file, bytes) else None,
        parameters=tuple((name, _word(value)) for name, value in (parameters or {}).items()),
        suffix=suffix,
        secrets=None if secrets is None else os.fspath(secrets),
        slurm=tuple((slurm or {}).items()),
        backend=backend,
        host=host,
    )


def _path(file: str | os.PathLike[str]) -> str:
    """Return the path; `-` means a file of that name, not standard input."""
    path = os.fspath(file)
    return f"./{STDIN}" if path == STDIN else path


def _word(value: Parameter) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)

"""What a program gives as a job file and its parameters, as the commands have it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, TypeAlias

from ..errors import Diagnostic, UsageError
from .input.source import STDIN, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

JobFile: TypeAlias = "str | os.PathLike[str] | bytes"
"""The path of a job file, or as bytes its text."""
Parameter: TypeAlias = "str | int | float"
"""A value of a parameter; text is read as `--set NAME=VALUE` reads it, so that "0.1" is a number."""


def source_of(
    file: JobFile,
    parameters: Mapping[str, Parameter] | None,
    suffix: str,
    secrets: str | os.PathLike[str] | None,
    slurm: Mapping[str, str] | None,
    *,
    backend: str = "slurm",
    host: str | None = None,
) -> Source:
    """Return what is to be compiled, and where it runs; UsageError for a backend that is at no login node."""
    if host is not None and backend != "slurm":
        message = f"host is for Slurm, and goes not with the backend {backend}"
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
    """Return a path that is no sign for standard input."""
    path = os.fspath(file)
    return f"./{STDIN}" if path == STDIN else path


def _word(value: Parameter) -> str:
    return value if isinstance(value, str) else json.dumps(value)

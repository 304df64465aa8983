"""The source of a job: a job file, its site profile, and options that change it; also from a call of the Python API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

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

    @property
    def name(self) -> str:
        """The name of the job file in messages."""
        return "<stdin>" if self.file == STDIN else self.file

    def typed_by(self, parameter: str = "--set") -> Source:
        """Return the source with its options for messages; `parameter` is the option that sets parameters."""
        from ...protocol.overrides import TABLE
        from ...reading.document import path_text

        typed = {path_text(("parameters", name)): f"{parameter} {name}" for name, _ in self.parameters}
        typed |= {path_text((*TABLE, name)): f"--{name}" for name, _ in self.slurm}
        return replace(self, typed=typed | (dict.fromkeys(("$.name", "$.jobName"), "--suffix") if self.suffix else {}))

    def __repr__(self) -> str:
        # The text may contain secrets.
        return f"Source(file={self.file!r})"


JobFile: TypeAlias = "str | os.PathLike[str] | bytes | Source"
"""The path of a job file, its text as bytes, or the record of a job file with its options."""
Parameter: TypeAlias = "str | int | float"
"""A value of a parameter; text is parsed like `--set NAME=VALUE`, so "0.1" is a number."""


class JobFileOptions(TypedDict, total=False):
    """The options of a job file.

    `parameters` override those of the file; `suffix` is appended to the job's name; `secrets` is a file of mode 0600 or
    0400; `slurm` contains keys of `extras.slurm`: time, partition, account, qos. `site` is a site profile. `backend` is
    slurm, pyslurm, auto or local; `host` is a login node to reach by SSH, for the backend slurm.
    """

    parameters: Mapping[str, Parameter] | None
    suffix: str
    secrets: str | os.PathLike[str] | None
    slurm: Mapping[str, str] | None
    site: str | None
    backend: str
    host: str | None


def source_of(file: JobFile, options: JobFileOptions) -> Source:
    """Return the source and its options. Raises UsageError for `host` with a backend other than slurm."""
    if isinstance(file, Source):
        return file
    backend, host, secrets = options.get("backend", "slurm"), options.get("host"), options.get("secrets")
    if host is not None and backend != "slurm":
        message = f"host cannot be used with the backend {backend}"
        raise UsageError(Diagnostic(code="E505", message=message))
    return Source(
        file=STDIN if isinstance(file, bytes) else _path(file),
        text=file if isinstance(file, bytes) else None,
        site=options.get("site"),
        parameters=tuple((name, _word(value)) for name, value in (options.get("parameters") or {}).items()),
        suffix=options.get("suffix", ""),
        secrets=None if secrets is None else os.fspath(secrets),
        slurm=tuple((options.get("slurm") or {}).items()),
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

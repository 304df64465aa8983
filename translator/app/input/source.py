"""The source of a job: a job file, its site profile, and options that change it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

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

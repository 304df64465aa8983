"""What is to be compiled: a job file, for which site, with what changed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

STDIN = "-"
SLURM_OPTIONS = ("time", "partition", "account", "qos")
"""Keys of `extras.slurm` that are options of the command line, too, which go before the job file and the profile."""


class Source(Struct, frozen=True, kw_only=True):
    """Say what to compile: a job file (`-` is standard input), for which site, with what changed.

    `text` is what the job file is taken to hold, None to read it; `submit_folder` is where the job is submitted from,
    "" for the current folder. `typed` has the options that messages name, by the paths of what they take the place of.
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
    typed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        # The text may hold secrets.
        return f"Source(file={self.file!r})"

"""What a job was submitted with, as its journal's first record keeps it: enough to submit the same once more."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

HIDDEN = "******"
"""Stands where the text of a secret was."""


class FileDigest(Struct, frozen=True, kw_only=True):
    """A file by its name and its bytes."""

    file: str
    """The absolute path; `-` for standard input."""
    sha256: str
    """The SHA-256 of its bytes, in hexadecimal."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """What a job was submitted with; no field holds a secret. Journals have an empty text for null."""

    parameters: Mapping[str, str]
    """The parameters in effect, by name."""
    overrides: Mapping[str, str]
    """The words of `--set` by name."""
    suffix: str | None
    """What `--suffix` appended to the job's name."""
    argv: tuple[str, ...]
    """The words of the command line."""
    submit_folder: str
    """The folder in which `submit` was called."""
    job_file: FileDigest
    """The job file as it was."""
    kept_sha256: str
    """The digest of `job.yaml` in the job's folder; it differs from the job file's where secrets are masked."""
    script_sha256: str
    """The digest of the script of the first attempt."""
    site_profiles: tuple[FileDigest, ...]
    """The site profile that was in force and those that it extends."""
    secrets_file: str | None
    """The file of `--secrets`."""
    paislurm_version: str
    """The version of paislurm that submitted the job."""
    submitted_by: str
    """Who called it, `user@host`."""
    slurm_options: Mapping[str, str] = field(default_factory=dict)
    """`--time`, `--partition`, `--account` and `--qos` of the command line, by name."""
    result_pattern: str | None = None
    """The regular expression that finds the job's result in its logs."""

    @property
    def masks_secrets(self) -> bool:
        """Tell whether the kept job file lacks secrets that the job file had."""
        return self.kept_sha256 != self.job_file.sha256


def parameter(run: RunRecord | None, name: str) -> str | None:
    """Return a parameter of a job as text, None where the job has none of the name or its journal keeps no run."""
    return run.parameters.get(name) if run else None

"""The run record: how a job was submitted, in the journal's first record, sufficient for the same submit again."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

HIDDEN = "******"
"""Replaces a secret."""


class FileDigest(Struct, frozen=True, kw_only=True):
    """A file with its digest."""

    file: str
    """The absolute path; `-` for standard input."""
    sha256: str
    """The SHA-256 of its bytes, in hexadecimal."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """How a job was submitted; no field contains a secret. Journals contain an empty text for null."""

    parameters: Mapping[str, str]
    """The parameters in effect, by name."""
    overrides: Mapping[str, str]
    """The values of `--set` by name."""
    suffix: str | None
    """The text that `--suffix` appended to the job's name."""
    argv: tuple[str, ...]
    """The words of the command line."""
    submit_folder: str
    """The folder in which `submit` was called."""
    job_file: FileDigest
    """The job file as it was."""
    kept_sha256: str
    """The digest of `job.yaml` in the job's folder; it differs from the job file's if secrets are masked."""
    script_sha256: str
    """The digest of the script of the first attempt."""
    site_profiles: tuple[FileDigest, ...]
    """The site profile in effect and those that it extends."""
    secrets_file: str | None
    """The file of `--secrets`."""
    paislurm_version: str
    """The version of paislurm that submitted the job."""
    submitted_by: str
    """The submitting user, `user@host`."""
    slurm_options: Mapping[str, str] = field(default_factory=dict)
    """`--time`, `--partition`, `--account` and `--qos` of the command line, by name."""
    result_pattern: str | None = None
    """The regular expression that finds the job's result in its logs."""

    @property
    def masks_secrets(self) -> bool:
        """Return whether the kept job file lacks secrets of the original."""
        return self.kept_sha256 != self.job_file.sha256


def parameter(run: RunRecord | None, name: str) -> str | None:
    """Return a parameter of a job as text, None if the job has no such parameter or no run record."""
    return run.parameters.get(name) if run else None

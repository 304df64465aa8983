"""What a job was submitted with, as its journal's first record keeps it: enough to submit the same once more."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

HIDDEN = "******"
"""Stands where the text of a secret was."""


class FileDigest(Struct, frozen=True, kw_only=True):
    """Name a file by its absolute path, `-` for standard input, and its bytes by their SHA-256, in hexadecimal."""

    file: str
    sha256: str


class RunRecord(Struct, frozen=True, kw_only=True):
    """Say what a job was submitted with; no field holds a secret.

    `parameters` are those in effect, the file's own with `overrides` in place of some; `overrides` are the words of
    `--set` by name. `kept_sha256` is that of `job.yaml` in the job folder: another one than the job file's where
    secrets are masked. `site_profiles` has no entry where there was no profile; `secrets_file` is that of `--secrets`,
    or "". `submitted_by` is `user@host`; `slurm_options` are `--time`, `--partition`, `--account` and `--qos`, by name;
    `result_pattern` finds the job's result in what its tasks print, None where it has none.
    """

    parameters: Mapping[str, str]
    overrides: Mapping[str, str]
    suffix: str
    argv: tuple[str, ...]
    submit_folder: str
    job_file: FileDigest
    kept_sha256: str
    script_sha256: str
    site_profiles: tuple[FileDigest, ...]
    secrets_file: str
    paislurm_version: str
    submitted_by: str
    slurm_options: Mapping[str, str] = field(default_factory=dict)
    result_pattern: str | None = None

    @property
    def masks_secrets(self) -> bool:
        """Tell whether the kept job file lacks secrets that the job file had."""
        return self.kept_sha256 != self.job_file.sha256


def parameter(run: RunRecord | None, name: str) -> str | None:
    """Return a parameter of a job as text, None where the job has none of the name or its journal keeps no run."""
    return run.parameters.get(name) if run else None

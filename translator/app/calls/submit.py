"""Calls that submit jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..input.source import source_of
from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..client import JobRun
    from ..estimate.estimate import StartEstimate
    from ..input.source import JobFile, Parameter
    from ..rehearsal.faults import Fault
    from ..rehearsal.resuming import Rehearsals


class SubmitCalls(Calls):
    """Submit jobs, or estimate their start."""

    def submit(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "slurm",
        host: str | None = None,
        after: Sequence[JobRun | str] = (),
    ) -> JobRun:
        """Submit a job and return it without waiting. On an error, nothing is submitted.

        The arguments are those of `load`. `backend` is slurm, pyslurm, auto or local; `host` is a login node to reach
        by SSH, for the backend slurm. The job starts `after` other jobs have succeeded, or with "NAME:ended" after any
        end. The second job of a name is `user~job@2`. Raises ProtocolError, SiteError, PlanError, FolderError for a
        name in use, and BackendError: RejectedError if Slurm rejects the job, UnreachableError if it does not answer.
        """
        from ..submit.after import jobs_before
        from ..submit.submit import submit

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            words = [each if isinstance(each, str) else self._folder(each).name for each in after]
            submitted = submit(self, source, dry_run=False, after=jobs_before(self, words) if words else ())
            return self._run(submitted.folder, submitted.compiled)

    def again(
        self,
        job: JobRun | str,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str | None = None,
        host: str | None = None,
    ) -> JobRun:
        """Submit a job again with the same arguments, and return the new job; arguments given here override them.

        Raises NotFoundError, FolderError if the job's files are incomplete, UsageError if secrets must be given again,
        and the errors of `submit`.
        """
        from ..runs.again import source_again
        from ..submit.submit import submit

        with self._call():
            given = source_of("", parameters, suffix, secrets, slurm)
            source = source_again(self, self._folder(job), given, backend=backend, host=host)
            submitted = submit(self, source, dry_run=False)
            return self._run(submitted.folder, submitted.compiled)

    def sweep(
        self,
        file: JobFile,
        *values: str,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "slurm",
        host: str | None = None,
    ) -> list[JobRun]:
        """Submit a job for each combination of values, and return all jobs of the sweep; existing ones are kept.

        `values` are such as "lr=0.1,0.01", "seed=1..5" or "lr=0..1..0.25"; the other arguments and errors are those of
        `submit`. Raises UsageError for invalid values. If a job cannot be submitted, the error contains the number of
        submitted jobs; the same call submits the others.
        """
        from ..submit.sweep.submit import submit_sweep

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            done = submit_sweep(self, source, values, dry_run=False, yes=True)
            present = [self._run(self.store.find(name, user=self.user)) for name in done.present]
            return [*present, *(self._run(each.folder, each.compiled) for each in done.submitted)]

    def rehearse(
        self,
        file: JobFile,
        *faults: Fault,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "local",
        tasks: int | None = None,
        patience: float | None = None,
    ) -> Rehearsals:
        """Run a job once for each fault (default: all), break it, and judge its second attempt.

        `backend` is local or slurm; `tasks` limits the tasks of each role (default: all). Each step may take `patience`
        seconds (default: 120, or 600 with Slurm). Raises UsageError if the job does not say how it resumes, and the
        errors of `submit`.
        """
        from msgspec.structs import replace

        from ..rehearsal.rehearse import rehearse

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend)
            return rehearse(self, replace(source, most_tasks=tasks), faults, patience)

    def estimate(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "slurm",
        host: str | None = None,
    ) -> StartEstimate:
        """Return when a job would start if it were submitted now. Nothing is submitted.

        The arguments and errors are those of `submit`.
        """
        from ..estimate.estimate import estimate

        with self._call():
            return estimate(
                self, source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            ).record

"""Calls that submit jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..sources import source_of
from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..estimate.start import StartEstimate
    from ..job_run import JobRun
    from ..sources import JobFile, Parameter


class SubmitCalls(Calls):
    """Submit jobs, or estimate when they would start."""

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
        """Submit a job and return it: all of it or nothing, and nothing is waited for.

        The arguments are those of `load`. `backend` is slurm, pyslurm, auto or local; `host` is a login
        node that is reached by SSH, for the backend slurm. The job begins `after` others have succeeded, or for
        "NAME:ended" have ended. A finished job of the same name is kept under another one. Raises ProtocolError,
        SiteError, PlanError, FolderError for a name that is taken, and BackendError: RejectedError where Slurm refuses,
        UnreachableError where it does not answer.
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
        """Submit a job once more as it was submitted, and return the new one; arguments go before those of then.

        Raises NotFoundError, FolderError where too little is kept of the job, UsageError where secrets must be given
        once more, and the errors of `submit`.
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
        """Submit a job for each combination of values, and return all jobs of the sweep; those that are there stay.

        `values` are "lr=0.1,0.01", "seed=1..5" or "lr=0..1..0.25"; the other arguments and errors are those of
        `submit`. Raises UsageError for values that cannot be meant. What keeps one job from being submitted says how
        many were; the same call submits the others.
        """
        from ..submit.sweep.submit import submit_sweep

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            done = submit_sweep(self, source, values, dry_run=False, yes=True)
            present = [self._run(self.store.find(name, user=self.user)) for name in done.present]
            return [*present, *(self._run(each.folder, each.compiled) for each in done.submitted)]

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
        """Return when a job would start if it were submitted now, and the GPUs of its partitions; nothing is submitted.

        The arguments and errors are those of `submit`.
        """
        from ..estimate.estimate import estimate

        with self._call():
            return estimate(
                self, source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            ).record

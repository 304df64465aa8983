"""Use cases about sweeps: jobs of one job file with different values of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...state.journal_records import Pace
from ..input.source import source_of
from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from ..input.source import JobFile, JobFileOptions
    from ..submit.submission import Submitted
    from ..submit.sweep import Sweep
    from .use_cases import AnyJob


class SweepUses(UseCases):
    """Submit sweeps; `session.jobs` watches, cancels and reports their jobs by the name of the group."""

    def submit(
        self,
        file: JobFile,
        *values: str,
        after: Sequence[AnyJob] = (),
        failed: str | None = None,
        at_once: int = 0,
        stop_after: int = 0,
        dry_run: bool = False,
        many: bool = True,
        each: Callable[[Submitted], None] = lambda _: None,
        **options: Unpack[JobFileOptions],
    ) -> Sweep:
        """Submit a job for each combination of values, and return the sweep with the `names` of all its jobs.

        `values` are such as "lr=0.1,0.01", "seed=1..5" or "lr=0..1..0.25". Existing jobs of the sweep are kept,
        but those that `failed` for a cause are submitted again: "any", "out-of-memory", "timeout" or an exit code.
        With `at_once`, at most so many jobs of the sweep are at Slurm at a time; the others wait here, and are not
        submitted any more after `stop_after` failures with one exit code (0: no such limit).
        `each` is called with each submitted job. Raises UsageError for invalid values, and unless `many` for more than
        100 jobs. The other arguments and errors are those of `submit` of jobs. If a job cannot be submitted, the error
        contains the number of submitted jobs; the same call submits the others.

        >>> planned = session.sweeps.submit("sweep.yaml", "lr=0.1,0.01", "seed=1..3", suffix="-b", dry_run=True)
        >>> len(planned.names)
        6
        """
        from ..submit.submission import jobs_before
        from ..submit.sweep import submit_sweep

        return submit_sweep(
            self._session,
            source_of(file, options),
            values,
            failed=failed,
            pace=Pace(most_at_once=at_once, stop_after=stop_after),
            dry_run=dry_run,
            after=jobs_before(self._session, [self._word(job) for job in after]),
            yes=many,
            say=each,
        )

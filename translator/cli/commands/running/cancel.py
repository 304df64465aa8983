"""`paislurm cancel`: cancel jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import asks_for_several, examples, jobs_arguments, json_option, pass_session
from ...output.console import print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....app.jobs.cancelling import CancelledJob
    from ....app.session import Session

MAX_ENDED = 3
"""Most jobs that had already ended and are named one by one."""


@click.command(epilog=examples("paislurm cancel my-job other-job", "paislurm cancel 'train-*'", "paislurm cancel 1234"))
@jobs_arguments
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, last: bool, as_json: bool) -> int:
    """Cancel jobs. A job that has already ended is no error.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern such as 'train-*'; `--last` is your last job.
    Tasks get TERM and some seconds to save their work.
    """
    from ....app.jobs.cancelling import CancelledJobs

    if not jobs and not last:
        raise click.UsageError("no job given: name a JOB, or use --last for your last job")
    done = session.jobs.cancel(*jobs, last=last)
    if as_json:
        several = len(done) > 1 or asks_for_several(jobs, last=last)
        print_json(CancelledJobs(jobs=tuple(done)) if several else done[0])
        return 0
    for message in _messages(done):
        print_result(one_line(message))
    return 0


def _messages(done: Sequence[CancelledJob]) -> Iterator[str]:
    """Yield a message for each job; if many had already ended, only their number."""
    ended = [each for each in done if each.had_ended]
    for each in done:
        if not each.had_ended or len(ended) <= MAX_ENDED:
            yield each.message
    if len(ended) > MAX_ENDED:
        yield f"{len(ended)} {'other ' if len(done) > len(ended) else ''}jobs have already ended"

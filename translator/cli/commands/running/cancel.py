"""`paislurm cancel`: end jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, jobs_arguments, json_option, pass_session
from ...output.console import log, print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ....app.jobs.cancelling import Done
    from ....app.session import Session

MAX_ENDED = 3
"""So many jobs that had ended before are named one by one."""


@click.command(epilog=examples("paislurm cancel my-job other-job", "paislurm cancel 'train-*'", "paislurm cancel 1234"))
@jobs_arguments
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, last: bool, as_json: bool) -> int:
    """End jobs. A job that has ended already is no error.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern as 'train-*'; `--last` is the job that you
    submitted last. Tasks get TERM and some seconds to save what they have.
    """
    from ....app.jobs.cancelling import cancel_jobs, joined
    from ....app.jobs.selecting import asks_for_several, select
    from ...output.views import end_dict

    if not jobs and not last:
        raise click.UsageError("say which jobs to cancel: a JOB, or --last for the one that you submitted last")
    folders = select(session.store, jobs, user=session.user, last=last)
    done, errors = cancel_jobs(session, folders)
    if errors:
        for message in _messages(done):
            log(one_line(message))
        raise joined(errors)
    if as_json:
        documents = [end_dict(each.view) | {"message": each.message} for each in done]
        several = len(folders) > 1 or asks_for_several(jobs, last=last)
        print_json({"jobs": documents} if several else documents[0])
        return 0
    for message in _messages(done):
        print_result(one_line(message))
    return 0


def _messages(done: Sequence[Done]) -> Iterator[str]:
    """Yield what was done, job by job; of many that had ended before, how many there are."""
    ended = [each for each in done if each.had_ended]
    for each in done:
        if not each.had_ended or len(ended) <= MAX_ENDED:
            yield each.message
    if len(ended) > MAX_ENDED:
        yield f"{len(ended)} {'other ' if len(done) > len(ended) else ''}jobs have already ended"

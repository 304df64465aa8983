"""`paislurm exec`: a shell or a command in a running task."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ...options import examples, job_argument, json_option, pass_session
from ...output.console import print_json
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session

END_OF_OPTIONS = "--"


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog=examples(
        "paislurm exec my-job worker-0",
        "paislurm exec my-job worker-0 -- nvidia-smi",
        "paislurm exec my-job worker-0 -- bash -c 'ps aux | grep python'",
        "paislurm exec my-job worker-0 -- tar c . > work.tar",
        "paislurm exec my-job -- nvidia-smi              # a job of one task",
    ),
)
@json_option
@job_argument
@click.argument("task", metavar="[ROLE-INDEX]", shell_complete=candidates.tasks, required=False)
@click.argument("words", metavar="[--] [COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@pass_session
def command(session: Session, job: str, task: str | None, words: tuple[str, ...], *, as_json: bool) -> int:
    """Open a shell in a running task, or run a command in it. The nodes need no SSH.

    JOB is a job's name, user~name, or its Slurm id. If a job has one task, ROLE-INDEX can be omitted; write `--`
    before the command then. The shell or command runs beside the task's own command: in its container, with its
    devices, limits, working directory and variables. It gets a terminal if standard input and output are terminals.
    The exit code is that of the command, or 255 if the connection to the task fails. --json runs nothing and prints
    the command line.
    """
    named, command = _task_and_command(task, words)
    if as_json:
        print_json(session.tasks.call(job, named, command))
        return 0
    return session.tasks.attach(job, named, command, terminal=os.isatty(0) and os.isatty(1))


def _task_and_command(task: str | None, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the task, "" for the job's only one, and the command.

    click does not parse options after arguments, including the first `--`.
    """
    if task is None or task == END_OF_OPTIONS:
        return "", words
    return task, words[1:] if words[:1] == (END_OF_OPTIONS,) else words

"""`paislurm port-forward`: reach a port of a task from another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import WholeNumber, examples, job_argument, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell import candidates

if TYPE_CHECKING:
    from ....app.session import Session


@click.command(
    epilog=examples(
        "paislurm port-forward my-job",
        "paislurm port-forward my-job worker-0 http",
        "paislurm port-forward my-job worker-0 tensorboard --local-port 6006",
        "paislurm port-forward my-job worker-0 8888 --login alice@login.example.org",
        "paislurm port-forward my-job worker-0 http --run",
    )
)
@job_argument
@click.argument("task", metavar="[ROLE-INDEX]", default="", shell_complete=candidates.tasks)
@click.argument("port", metavar="[LABEL|PORT]", default="", shell_complete=candidates.port_labels)
@click.option(
    "--local-port", type=WholeNumber(1, 65535), metavar="N", help="The port on your own machine. Default: the same."
)
@click.option(
    "--login", metavar="[USER@]HOST[:PORT]", help="The name of the login node on your machine. Default: this machine."
)
@click.option("--run", is_flag=True, help="Forward the port to this machine, for all its users, until Ctrl-C.")
@json_option
@pass_session
def command(
    session: Session,
    job: str,
    task: str,
    port: str,
    *,
    local_port: int | None,
    login: str | None,
    run: bool,
    as_json: bool,
) -> int:
    """Print the ssh command that connects your own machine to a port of a running task.

    JOB is a job's name, user~name, or its Slurm id. The port is a label of the job file, `tensorboard` for the port
    of that plugin, or a number. A job with one task needs no TASK, and a task with one port no label. The login node
    connects to the task's node, so the program must listen on all addresses. No login to the task's node is needed.
    """
    import shlex

    found = session.tasks.port_forward(job, task, port, local_port=local_port, login=login)
    if as_json:
        print_json(found)
    elif run:
        session.tasks.run_forward(found)
    else:
        print_result(shlex.join(found.argv))
        log(f"run this on your own machine and open {found.url}")
        if login is None and found.is_through_login:
            here = found.login.rpartition("@")[2]
            log(f"the login node is assumed to be {here}, the name of this machine: set another one with --login")
        log(f"if {found.task} listens on localhost only, and {found.node} lets you log in while your job runs:")
        log(f"  {shlex.join(found.argv_by_node)}")
    return 0

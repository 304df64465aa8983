"""`paislurm port-forward`: reach a port of a task from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import WholeNumber, examples, job_argument, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import PortLabel, Task

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
@click.argument("task", metavar="[ROLE-INDEX]", default="", type=Task())
@click.argument("port", metavar="[LABEL|PORT]", default="", type=PortLabel())
@click.option(
    "--local-port", type=WholeNumber(1, 65535), metavar="N", help="The port of your own machine; default: the same."
)
@click.option(
    "--login", metavar="[USER@]HOST[:PORT]", help="The login node, as your machine knows it; default: this machine."
)
@click.option("--run", is_flag=True, help="Forward the port to this machine now, until Ctrl-C.")
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
    """Print the ssh command by which your own machine reaches a port of a task that runs.

    JOB is a job's name, user~name, or its Slurm id; the port is a label of the job file, `tensorboard` for that of
    the plugin, or a number. A job with one task needs no task here, and a task with one port no label. The login node
    connects to the node of the task, where the program has to listen on all addresses. Nobody logs in to the node.
    """
    import shlex

    from ....app.tasks.port_forward import port_forward, run_forward

    found = port_forward(session, job, task, port, local_port=local_port, login=login)
    if as_json:
        print_json(found)
    elif run:
        run_forward(session, found)
    else:
        print_result(shlex.join(found.argv))
        log(f"run this on your own machine, and open {found.url}")
        if login is None and found.is_through_here:
            here = found.login.rpartition("@")[2]
            log(f"it takes {here} for the login node, as this machine calls itself: --login says otherwise")
        log(f"if {found.task} listens on localhost alone, and {found.node} lets you log in while your job is there:")
        log(f"  {shlex.join(found.argv_by_node)}")
    return 0

"""`paislurm port-forward`: reach a port of a task from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import WholeNumber, examples, job_argument, json_option, pass_session
from ...output.console import log, print_json, print_result
from ...shell.candidates import PortLabel, Task

if TYPE_CHECKING:
    from paislurm.backends.ssh.transport import Address

    from ....app.session import Session
    from ....app.where.forwarding import Forwarding
    from ....app.where.task_places import TaskPlace
    from ....monitor.poll import View


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

    from ....app.jobs.refresh import refresh

    view = refresh(session, session.store.find(job, user=session.user))
    wanted = _forwarding(view, task, port, local_port)
    node = _login(session, view, login)
    if as_json:
        print_json(_document(view, wanted, node))
    elif run:
        _run(view, wanted, node)
    else:
        print_result(shlex.join(wanted.argv(node)))
        log(f"run this on your own machine, and open {wanted.url}")
        if login is None and not _is_elsewhere(view):
            log(f"it takes {node.host} for the login node, as this machine calls itself: --login says otherwise")
        log(f"if {wanted.task} listens on localhost alone, and {wanted.node} lets you log in while your job is there:")
        log(f"  {shlex.join(wanted.argv_by_node(node))}")
    return 0


def _forwarding(view: View, word: str, port: str, local_port: int | None) -> Forwarding:
    from ....app.where.forwarding import Forwarding, port_of
    from ....app.where.only_choice import only_port, only_task
    from ....app.where.web_pages import web_pages

    place = _place(view, word or only_task(view))
    pages = web_pages(view.folder, [place])
    number = port_of(place, port or only_port(view, place, pages), pages)
    node = place.node or place.host
    return Forwarding(task=place.name, node=node, host=place.host, port=number, local_port=local_port or number)


def _place(view: View, word: str) -> TaskPlace:
    """Return where the task is; the name of a role is enough for its only task. NotFoundError unless it runs."""
    from ....app.jobs.logs.selection import chosen
    from ....app.where.task_places import task_places
    from ....errors import Diagnostic, NotFoundError

    tasks = chosen(view.history.roles, (word,))
    if len(tasks) > 1:
        raise click.UsageError(f"{word} has {len(tasks)} tasks: say which, {word}-0 to {word}-{len(tasks) - 1}")
    [(role, index)] = tasks
    place = task_places(view).get((role.name, index))
    if place is None or not place.is_running or not place.host:
        message = f"task {role.name}-{index} of {view.folder.name} is not running: nobody listens on its ports"
        raise NotFoundError(Diagnostic(code="E565", message=message, hint=f"see: paislurm status {view.folder.name}"))
    return place


def _is_elsewhere(view: View) -> bool:
    from paislurm.backends.registry import is_elsewhere

    return is_elsewhere(view.history.backend)


def _login(session: Session, view: View, word: str | None) -> Address:
    """Return the login node: as the user says, as jobs are sent there by SSH, else this machine by its full name."""
    import socket

    from paislurm.backends.registry import SSH
    from paislurm.backends.ssh.transport import Address, parse_address

    if word is not None:
        return parse_address(word)
    if _is_elsewhere(view):
        return parse_address(view.history.backend.removeprefix(SSH))
    return Address(host=socket.getfqdn(), user=session.user)


def _document(view: View, wanted: Forwarding, node: Address) -> dict[str, object]:
    return {
        "name": view.folder.name,
        "job_id": view.history.job_id,
        "task": wanted.task,
        "node": wanted.node,
        "node_address": wanted.host,
        "port": wanted.port,
        "local_port": wanted.local_port,
        "url": wanted.url,
        "login": str(node),
        "argv": wanted.argv(node),
        "argv_by_node": wanted.argv_by_node(node),
    }


def _run(view: View, wanted: Forwarding, node: Address) -> None:
    """Forward until Ctrl-C: by ssh from a machine that reaches the cluster by SSH, else by connections of our own."""
    if _is_elsewhere(view):
        import os

        from paislurm.backends.runner import become
        from paislurm.backends.ssh.openssh import no_new_keys

        log(f"open {wanted.url}; Ctrl-C ends this")
        program, *words = wanted.argv(node)
        become([program, *no_new_keys(), *words], os.environ)
    from ....app.where.forwarder import forward

    forward(wanted, lambda: log(f"open {wanted.url} on this machine; Ctrl-C ends this"), log)

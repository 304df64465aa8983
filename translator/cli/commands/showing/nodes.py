"""`paislurm nodes`: the user's bad nodes, which jobs with `avoidNodes` avoid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, print_json

if TYPE_CHECKING:
    from ....app.session import Session
    from ....app.use_cases.site_uses import NodeList


@click.group(
    name="nodes",
    invoke_without_command=True,
    epilog=examples("paislurm nodes", "paislurm nodes add n07 --reason 'slow link'", "paislurm nodes remove n07"),
)
@json_option
@pass_session
@click.pass_context
def command(context: click.Context, session: Session, *, as_json: bool) -> int:
    """List your bad nodes with their age, reason and job, the latest first.

    The monitor adds the nodes that an attempt of a job excludes from the next one: those that failed a preflight, were
    lost, or did not start a step. Jobs with `extras.slurm.avoidNodes` do not start on them for a while.
    """
    if context.invoked_subcommand is not None:
        return 0
    return _print(session, session.sites.nodes(), as_json=as_json)


@command.command(epilog=examples("paislurm nodes add n07 --reason 'slow link'"))
@click.argument("node", metavar="NODE")
@click.option("--reason", metavar="TEXT", default="", help="Why the node is bad.")
@json_option
@pass_session
def add(session: Session, node: str, reason: str, *, as_json: bool) -> int:
    """Add a bad node."""
    return _print(session, session.sites.add_node(node, reason=reason), as_json=as_json)


@command.command(epilog=examples("paislurm nodes remove n07"))
@click.argument("node", metavar="NODE")
@json_option
@pass_session
def remove(session: Session, node: str, *, as_json: bool) -> int:
    """Remove a node that is not bad any more."""
    return _print(session, session.sites.remove_node(node), as_json=as_json)


def _print(session: Session, found: NodeList, *, as_json: bool) -> int:
    from ....times import age, seconds_since_1970
    from ...output.tables import print_table

    if as_json:
        print_json(found)
    elif found.bad_nodes:
        now = session.now()
        rows = [
            (each.node, age(now - (seconds_since_1970(each.blamed_at) or now)), each.job or "", each.reason or "")
            for each in found.bad_nodes
        ]
        print_table(("node", "age", "job", "reason"), rows)
    else:
        log("no bad nodes")
    return 0

"""The user's bad nodes: list them, add one, remove one; jobs with `avoidNodes` avoid them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from ..errors import Diagnostic, UsageError
from ..files.private import make_private
from ..monitor.reconcile import Ledger
from ..state.bad_nodes import MAX_REASON, NODE_NAME, BadNode, add, bad_nodes
from ..state.publish import writing
from ..times import Time, aware
from .sites.find import find_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..state.history import History
    from ..state.journal_records import Ended, Retry
    from .session import Session


class NodeLine(Struct, frozen=True, kw_only=True):
    """A bad node of the ledger."""

    node: str
    """The name of the node."""
    cluster: str
    """The backend of its jobs, with the site profile's `cluster`."""
    reason: str | None
    """Why the node is bad, in a sentence; None if its user has given no reason."""
    job: str | None
    """The full name of the job that met it; None if its user has added it."""
    attempt: int | None
    """The number of that job's attempt, from 0."""
    blamed_at: Time | None
    """When the node was added."""


class NodeList(Struct, frozen=True, kw_only=True):
    """The bad nodes of the ledger."""

    bad_nodes: tuple[NodeLine, ...]
    """The nodes, the latest first."""


def list_nodes(session: Session) -> NodeList:
    """Return the user's bad nodes, the latest first."""
    return NodeList(
        bad_nodes=tuple(
            NodeLine(
                node=each.node,
                cluster=each.cluster,
                reason=each.reason or None,
                job=each.job or None,
                attempt=each.attempt if each.job else None,
                blamed_at=aware(each.happened_at),
            )
            for each in bad_nodes(session.store.home)
        )
    )


def add_node(session: Session, node: str, reason: str) -> NodeList:
    """Add a node to the ledger. Raises UsageError for a name that no node has, BackendError, and FolderError."""
    if not re.fullmatch(NODE_NAME, node):
        message = f"{node!r} is not the name of a node"
        raise UsageError(Diagnostic(code="E547", message=message, hint="add one node at a time"))
    site, home = find_site(session, None), session.store.home
    backend = f"ssh:{site.host}" if site.host else "slurm"
    cluster = f"{backend}@{site.cluster}" if site.cluster else backend
    if node not in session.backend(backend).known_nodes([node], site.cluster or ""):
        hint = "list the nodes with `sinfo -N`"
        raise UsageError(Diagnostic(code="E547", message=f"{cluster} has no node {node!r}", hint=hint))
    with writing(home):
        make_private(home)
        add(home, [BadNode(happened_at=session.now(), cluster=cluster, node=node, reason=reason[:MAX_REASON])])
    return list_nodes(session)


def remove_node(session: Session, node: str) -> NodeList:
    """Remove a node from the ledger, on all clusters. Raises UsageError if it is not there, and FolderError."""
    home = session.store.home
    found = [each for each in bad_nodes(home) if each.node == node]
    if not found:
        hint = "`paislurm nodes` lists the bad nodes"
        raise UsageError(Diagnostic(code="E547", message=f"{node!r} is not among the bad nodes", hint=hint))
    now = session.now()
    with writing(home):
        add(home, [BadNode(happened_at=now, cluster=each.cluster, node=node, is_removed=True) for each in found])
    return list_nodes(session)


def say_avoided(session: Session, job: str, wanted: tuple[str, ...], avoided: tuple[str, ...]) -> None:
    """Report which bad nodes a submitted job avoids, and which it does not."""
    if avoided:
        session.say(f"{job} avoids bad nodes: {', '.join(avoided)}")
    left = ", ".join(node for node in wanted if node not in avoided)
    if left:
        session.say(f"warning: {job} does not avoid {left}: Slurm refuses that; see `paislurm nodes`")


def ledger(session: Session) -> Ledger:
    """Return the ledger for the monitor and `submit`. If it cannot be written, jobs go on."""

    def blame(known: History, record: Ended | Retry) -> None:
        nodes = [
            BadNode(
                happened_at=record.happened_at,
                cluster=known.cluster,
                node=node,
                reason=record.reason[:MAX_REASON],
                job=known.full_name,
                attempt=record.attempt,
            )
            for node in record.blamed_nodes
        ]
        with suppress(OSError):
            add(session.store.home, nodes)

    def read(known: History) -> Sequence[BadNode]:
        return bad_nodes(session.store.home, known.cluster) if known.retry_policy.avoid_most else ()

    return Ledger(read=read, add=blame)

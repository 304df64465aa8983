"""What a user should know of a plan that can be carried out, and may not do what is expected."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product
from typing import TYPE_CHECKING

from ..errors import Diagnostic
from .environment import exported_tasks

if TYPE_CHECKING:
    from ..job import Job, Role
    from ..site.profile import Site
    from .layout.layout import Allocation


def plan_warnings(job: Job, site: Site, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Return the warnings that need the whole plan."""
    return (
        *_nodes_not_known(job, allocation),
        *_unexported_peers(job),
        *_fixed_ports(job, allocation),
        *_no_notifier(job, site),
    )


def _nodes_not_known(job: Job, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Warn of a job that may never start, because nobody says how many nodes there are."""
    if allocation.nodes_known or len(job.roles) == 1:
        return ()
    least = sum(nodes.count if nodes else 1 for nodes in allocation.nodes)
    message = (
        f"the {len(job.roles)} components need at least {least} nodes, because components share none; "
        "on a smaller partition the job stays pending for ever"
    )
    hint = "describe the partition's nodes in a site profile, and the planner takes a layout that fits"
    return (Diagnostic(code="W403", message=message, path="$.taskRoles", hint=hint),)


def _fixed_ports(job: Job, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Warn of tasks of two roles that the shared layout puts on one node, although both have the same fixed port."""
    placements = allocation.packing.placements if allocation.packing else ()
    users: dict[tuple[int, int], list[int]] = defaultdict(list)
    for position, placement in enumerate(placements):
        if job.roles[position].has_fixed_ports:
            on = (node for nodes in placement for node in range(nodes.first, nodes.last + 1))
            for place in product(on, _ports_of(job.roles[position])):
                users[place].append(position)
    first: dict[tuple[int, int], int] = {}
    for (_, port), positions in users.items():
        for pair in combinations(positions, 2):
            first[pair] = min(port, first.get(pair, port))
    return tuple(
        Diagnostic(
            code="W421",
            message=f"tasks of the roles {job.roles[one].name} and {job.roles[other].name} share nodes, and both have "
            f"the fixed port {port}: one will fail",
            path="$.taskRoles",
            hint="give them different ports",
        )
        for (one, other), port in sorted(first.items())
    )


def _ports_of(role: Role) -> set[int]:
    return {number for port in role.ports if port.first for number in range(port.first, port.first + port.count)}


def _no_notifier(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    if not job.notify or site.notifications.notifier is not None:
        return ()
    message = f"no notifications will be sent ({', '.join(job.notify)}): the site profile names no notifier"
    hint = "set `notifications: {command: [...]}` or `notifications: {sendmail: /usr/sbin/sendmail}` there"
    return (Diagnostic(code="W409", message=message, path="$.extras.jobStatusChangeNotification", hint=hint),)


def _unexported_peers(job: Job) -> tuple[Diagnostic, ...]:
    """Warn where tasks do not inherit all variables about each other."""
    exported = exported_tasks(job) if job.gang else None
    if exported is None:
        return ()
    first = ("the first task of some roles", "the first task of each role", f"the first {exported} tasks of each role")
    message = f"of the {job.task_count} tasks, a task inherits the variables about {first[min(exported, 2)]}"
    hint = "`source $PAISLURM_PEERS` reads those about all tasks, `paislurm-peer ROLE INDEX` prints those about one"
    return (Diagnostic(code="W404", message=message, path="$.taskRoles", hint=hint),)

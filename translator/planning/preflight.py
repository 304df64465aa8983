"""Checks of nodes before tasks start: the job's, with the site's for keys that it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..slurm_options import NODE_CHECKS, NodeCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..job import Job, Role
    from ..site.profile import Site
    from .infiniband import RoleInfiniband
    from .job_plan import RolePlan

DEFAULT_SECONDS = 60


class RolePreflight(Struct, frozen=True, kw_only=True):
    """The checks of the nodes of a role before tasks start."""

    checks: tuple[NodeCheck, ...]
    """The checks that apply to the role: `gpu` if it has GPUs, `infiniband` if the site profile has requirements."""
    node_commands: str
    """The commands that run on each node, "" for none."""
    pair_commands: str
    """The commands that run on pairs of nodes, "" for none."""
    timeout_s: int
    """The most seconds for the checks, for the command, and for each round of pairs."""


def preflight_of(job: Job, role: Role, site: Site, infiniband: RoleInfiniband | None) -> RolePreflight | None:
    """Return the checks of the nodes of a role, None if the job asks for none."""
    wanted, default = role.slurm_options.preflight or job.slurm_options.job.preflight, site.preflight
    if wanted is None or not wanted.is_on:
        return None
    named = wanted.check or default.check or NODE_CHECKS
    applies = {"gpu": role.resources.gpus > 0, "infiniband": infiniband is not None and bool(infiniband.checks)}
    return RolePreflight(
        checks=tuple(check for check in NODE_CHECKS if check in named and applies.get(check, True)),
        node_commands=wanted.command or default.command or "",
        pair_commands=wanted.pairs or default.pairs or "",
        timeout_s=wanted.timeout_s or default.timeout or DEFAULT_SECONDS,
    )


def preflight_words(role: RolePlan, roles: Sequence[RolePlan]) -> str:
    """Return the checks as the script reads them; `command:N` and `pairs:N` name the first role with that text."""
    own = role.preflight
    if own is None:
        return ""
    checked = [(each.position, each.preflight) for each in roles if each.preflight]
    command = next(number for number, each in checked if each.node_commands == own.node_commands)
    pairs = next(number for number, each in checked if each.pair_commands == own.pair_commands)
    texts = ((f"command:{command}", own.node_commands), (f"pairs:{pairs}", own.pair_commands))
    return " ".join((*own.checks, *(word for word, text in texts if text)))


def preflight_seconds(roles: Sequence[RolePlan]) -> int:
    """Return the most seconds for each step of the preflight."""
    return max((role.preflight.timeout_s for role in roles if role.preflight), default=DEFAULT_SECONDS)


def preflight_text(role: RolePlan) -> str:
    """Return what is checked on the nodes of a role as text, "" for nothing."""
    own = role.preflight
    if own is None:
        return ""
    texts = (("commands", own.node_commands), ("commands on pairs", own.pair_commands))
    parts = (*own.checks, *(words for words, text in texts if text))
    return f"{', '.join(parts) or 'nothing'} on the nodes of {role.name}"

"""Explain why a job's components wait: the backend's reason, its meaning, and a remedy. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.slurm.job_states import FORGOTTEN, Phase, phase
from paislurm.backends.slurm.pending_reasons import code_of, explained

from ..state.history import MAX_REASONS, NOTHING, change_key, reasons_of
from ..view.waits import Wait

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paislurm.backends.base import Observation

    from ..state.history import History
    from ..state.journal_records import JobRole

REASON_SECONDS = 60
"""Seconds before an earlier reason replaces the recorded one: Slurm alternates between reasons."""


def waits(reasons: Sequence[str], known: History) -> tuple[Wait, ...]:
    """Return why a job waits, from the reasons of its components; components with the same reason are grouped."""
    found: dict[str, list[int]] = {}
    for component, reason in enumerate(reasons):
        if reason not in NOTHING:
            found.setdefault(reason, []).append(component)
    if not found and len(reasons) > 1:
        # No scheduler has considered it yet. Source: observed on 22.05, 24.11 and 26.05.
        return (_wait("None", (), known, len(reasons)),)
    alone = len(found) == 1 and len(reasons) in (1, *map(len, found.values()))
    return tuple(
        _wait(reason, () if alone else _roles(components, len(reasons), known.roles), known, len(reasons))
        for reason, components in found.items()
    )


def _roles(components: Iterable[int], number: int, roles: Sequence[JobRole]) -> tuple[str, ...]:
    """Return the names of components: a component is a role, unless all roles share one."""
    named = len(roles) == number
    return tuple(roles[k].name if named else f"component {k}" for k in components)


def _wait(reason: str, roles: tuple[str, ...], known: History, components: int) -> Wait:
    row = explained(reason)
    what = row.help.replace("JOBID", known.job_id).replace("JOBNAME", known.job)
    if code_of(reason) == "Resources" and components > 1:
        what += f"; its {components} components need separate nodes and never start if there are too few"
    meaning = f"{row.meaning} every {_interval(known)}" if reason in NOTHING else row.meaning
    return Wait(role_names=roles, backend_reason=reason, kind=row.kind, meaning=meaning, advice=what or None)


def _interval(known: History) -> str:
    """Describe the interval of the backfill scheduler. Source: slurm.conf(5), bf_interval."""
    interval = known.backfill_interval
    return "30 s, or the site's `bf_interval`" if interval is None else f"{interval} s (`bf_interval`)"


def waits_by_journal(known: History) -> tuple[Wait, ...]:
    """Return why a job waits according to its journal."""
    seen = known.observed
    if seen is None or known.ended is not None or known.retry is not None:
        return ()
    if phase(seen.backend_state) is not Phase.PENDING:
        return ()
    return waits(reasons_of(seen), known)


def is_change(known: History, seen: Observation, now: int) -> bool:
    """Return whether a job's state, options or reason differ from the journal's.

    If the backend forgets an ended job, this is not news: the journal has its end.
    """
    last = known.observed
    if last is not None and seen.state == FORGOTTEN and phase(last.backend_state) is Phase.ENDED:
        return False
    if last is None or last.backend_state != seen.state or seen.options not in ({}, known.options):
        return True
    after = change_key(reasons_of(seen))
    if phase(seen.state) is not Phase.PENDING or after in ((), change_key(reasons_of(last))):
        return False
    new = after not in known.waited and len(known.waited) < MAX_REASONS
    return new or now - last.happened_at >= REASON_SECONDS

"""In which order the scripts of prerequisites and plugins run around a role's commands.

Source: PAI issue 5145 for `require`; PAI runtime for the order of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plan import HookScript

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..job import Hooks, Phase, Prerequisite


def ordered_hooks(hooks: Hooks) -> tuple[Prerequisite, ...]:
    """Return what runs around the commands, in the order of the start.

    What a prerequisite requires comes before it, depth first and once; plugins come last. A requirement that is
    not known does nothing. The requirements have no cycle: validation refuses one.
    """
    known = {each.name: each for each in hooks.resolved}
    found: dict[str, Prerequisite] = {}
    for name in hooks.requested:
        _add(name, known, found)
    return (*found.values(), *hooks.plugins)


def _add(name: str, known: Mapping[str, Prerequisite], found: dict[str, Prerequisite]) -> None:
    """Add a prerequisite after all that it requires; without recursion, because a chain may be long."""
    stack = [(name, iter(known[name].requires))] if name in known else []
    while stack:
        current, rest = stack[-1]
        wanted = next((each for each in rest if each in known and each not in found), None)
        if wanted is not None:
            stack.append((wanted, iter(known[wanted].requires)))
        else:
            found.setdefault(current, known[current])
            stack.pop()


def hook_scripts(ordering: tuple[Prerequisite, ...]) -> tuple[tuple[HookScript, ...], tuple[HookScript, ...]]:
    """Return the scripts that run before the commands, and those that run after them: in reverse.

    Of one prerequisite, the scripts for success and failure run before the one for any end.
    """
    numbered = tuple(enumerate(ordering))
    before = tuple(step for number, each in numbered for step in _of(number, each, "start"))
    after = tuple(
        step for number, each in reversed(numbered) for step in _of(number, each, "success", "failure", "exit")
    )
    return before, after


def _of(number: int, prerequisite: Prerequisite, *moments: Phase) -> list[HookScript]:
    return [
        HookScript(
            phase=phase,
            number=number,
            name=prerequisite.name,
            kind=prerequisite.kind,
            ignore_failure=prerequisite.ignore_failure,
            script=script,
            lines=prerequisite.lines,
        )
        for phase in moments
        for script in prerequisite.scripts
        if script.phase == phase
    ]

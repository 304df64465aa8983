"""A task reads a script only up to a point: all that it calls has to stand before that."""

from __future__ import annotations

import re

import pytest

from paislurm.translator.rendering.bash import CONTAINER_RUNTIMES, runtime

FUNCTION = re.compile(r"^(\w+)\(\) (?:\{ [^\n]*\}|\{\n.*?\n\})", re.DOTALL | re.MULTILINE)
CALL = r"(?:^|[;&|(!]|(?<!\$)\{|\b(?:do|then|else|launch))\s*%s(?![\w-])"
OF_RANKS = {"join_ranks", "on_end_of_rank", "on_start_of_rank", "release_ranks"}
"""Called for several ranks of a task, which no container has."""
ENDS = {
    "inside its container": ("[[ ${1-} != --inside ]]", OF_RANKS),
    "outside": ("[[ ${1-} != --task || $GANG == 0 ||", OF_RANKS | {"follow_task", "assign_ports"}),
    "without gang allocation, or with ranks": ("  --task) task_main", set()),
}
"""Where a task has read enough, and what it calls nevertheless only where it reads on."""


def missing(text: str, end: str) -> set[str]:
    """Return the functions that the part of the runtime up to `end` calls, and that stand behind it."""
    part = text[: text.index(end)]
    code = re.sub(r"(?m)(?:^|\s)#.*", "", "\n".join(match[0] for match in FUNCTION.finditer(part)))
    behind = {match[1] for match in FUNCTION.finditer(text, len(part))}
    return {name for name in behind if re.search(CALL % name, code, re.MULTILINE)}


@pytest.mark.parametrize(("end", "others"), ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("containers", CONTAINER_RUNTIMES)
def test_a_task_has_read_what_it_calls(containers: str, end: str, others: set[str]) -> None:
    text = runtime(containers)
    if containers == "none" and "inside" in end:
        assert end not in text
        return
    assert missing(text, end) == others


def test_what_is_missing_is_found() -> None:
    text = "f() {\n  x=1 # g\n  ! [[ $x ]] || { g; }\n}\nEND\ng() { :; }\nh() {\n  f\n}\n"
    assert missing(text, "END") == {"g"}

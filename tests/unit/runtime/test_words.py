"""Words of Slurm that the bash takes apart, and words that it puts into JSON."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .bash import run

RUNTIME = Path(__file__).parents[3] / "templates" / "runtime"
NEVER_EMPTY = {
    "BASH_LINENO",
    "PSL_NODES",
    "found",
    "running",
    "sorted",
    "PSL_BINDS",
    "PSL_CALL_FDS",
    "PSL_EVERY_COMPONENT",
    "PSL_CONTAINER_COMMAND",
    "PSL_EXIT_RULES",
    "PSL_LIST_NAMES",
    "PSL_LOGIN_FILE",
    "PSL_LOST_NODES",
    "PSL_NEXT_NODES",
    "PSL_NODES_OF",
    "PSL_PORT_LINES",
    "PSL_PROGRESS",
    "PSL_RANK_KILLERS",
    "PSL_RELAY_OPTIONS",
    "PSL_SRUN",
    "PSL_TASK_VARIABLES",
    "all",
    "asked",
    "files",
    "folders",
    "hosts",
    "names",
    "nodes",
    "options",
    "paths",
    "relay",
    "requests",
    "slots",
    "steps",
    "store",
    "tables",
    "tasks",
    "way",
    "words",
}
FEW = settings(deadline=None, max_examples=30)
COUNTS = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def compressed(counts: list[int]) -> str:
    """Return counts of tasks as Slurm writes them: 3(x2),1."""
    groups = [(count, len(list(group))) for count, group in groupby(counts)]
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in groups)


@FEW
@given(COUNTS)
def test_compressed_slurm_lists_are_expanded(counts: list[int]) -> None:
    said = run('expand_counts "$1" 3; printf "%s\\n" "${!PSL_COUNTS[*]}" "${PSL_COUNTS[@]}"', compressed(counts))
    assert said.split() == [str(word) for word in (*range(3, 3 + len(counts)), *counts)]


@FEW
@given(COUNTS, st.data())
def test_slots_fill_nodes_in_order(counts: list[int], data: st.DataObject) -> None:
    """A role takes what it needs of what was granted, node by node, and says so if that is too little."""
    slots = data.draw(st.integers(1, sum(counts) + 1))
    nodes = [f"n{number}" for number in range(len(counts))]
    code = (
        'die() { echo "given up: $*"; exit; }; PSL_ROLE_NAME=(w) PSL_SLOTS=("$1"); expand_counts "$2" 0\n'
        'names=("${@:3}"); place_role 0; echo "${PSL_NODES_OF[0]}"'
    )
    said = run(code, str(slots), compressed(counts), *nodes)
    if slots > sum(counts):
        assert said.startswith(f"given up: role w needs {slots} slots and Slurm granted {sum(counts)} on n0")
    else:
        filled = [node for node, count in zip(nodes, counts, strict=True) for _ in range(count)]
        assert said.split() == filled[:slots]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@FEW
@given(text=st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"])))
def test_any_text_becomes_a_json_string(locale: str, text: str) -> None:
    said = run('escape_json "$1"; printf "%s" "$PSL_ESCAPED"', text, env={"LC_ALL": locale})
    found = json.loads(f'"{said}"')
    assert len(found) == len(text)
    for one, other in zip(text, found, strict=True):
        # Control characters but the end of a line become blanks; which of those above ASCII are some is the locale's.
        assert one == other or (other == " " and (one < " " or "\x7f" <= one < "\xa0" or one in "\u2028\u2029"))


def test_arrays_that_may_be_empty_are_guarded() -> None:
    """Bash before 4.4 takes an empty array for an unset variable, at which `set -u` ends the script."""
    text = "".join(file.read_text(encoding="utf-8") for file in RUNTIME.rglob("*.sh"))
    found = set(re.findall(r'(?<!\+)"\$\{(\w+)\[[@*]\]\}"', text))
    assert found <= NEVER_EMPTY

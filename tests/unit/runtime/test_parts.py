"""A script has the parts of the runtime that its job uses, and all that they call has to be there."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations

import pytest

from paislurm.translator.rendering.engine import load
from paislurm.translator.rendering.runtime_bundle import ALL_USES, runtime
from paislurm.translator.site.containers import BASH_PARTS

from .bash import DISPATCHES

FUNCTION = re.compile(r"^(\w+)\(\) (?:\{ [^\n]*\}|\{\n.*?\n\})", re.DOTALL | re.MULTILINE)
CALLED = re.compile(
    r"(?:^|[;&|(!]|(?<!\$)\{|\b(?:do|then|else|launch|start_group|run_interruptibly|start_in_background))"
    r"\s*(?=(\w+)(?![\w-]))",
    re.MULTILINE,
)
PROGRAM = re.compile(r"^program_of_\w+\(\) \{\n.*?\nEND_OF_PROGRAM\n\}", re.DOTALL | re.MULTILINE)
"""A plugin's program, which another bash runs."""
IN_CONTAINERS, OF_TASKS, OF_FIRST_TASKS = (
    load(f"runtime/{name}_dispatch.sh").strip() for name in ("container", "task", "first_task")
)
GUARDED = {
    "containers": {"run_contained"},
    "event-blocks": {"read_block_of_events"},
    "gpus": {"has_ecc_error", "take_gpus"},
    "infiniband": {"print_infiniband_problems"},
    "more-ports": {"first_fixed_port", "report_ports_in_pieces", "take_fixed_ports"},
    "plugin-ssh": {"mark_control_fifos"},
    "registry": {"fetch_images_main"},
    "workdir": {"enter_workdir"},
    "slots": {"describe_peer", "read_peers", "reserve_port"},
}
"""What is called only by jobs that use a part, and so may be missing in others."""


def code_of(text: str) -> str:
    return re.sub(r"(?m)(?:^|\s)#.*", "", text)


def missing(text: str, names: set[str]) -> set[str]:
    """Return the functions among some that a text calls and does not have."""
    text = PROGRAM.sub("", text)
    own = {match[1] for match in FUNCTION.finditer(text)}
    return (names - own) & set(CALLED.findall(code_of(text)))


@cache
def every_function() -> set[str]:
    found = set()
    for containers in BASH_PARTS:
        others = [use for use in ALL_USES if use not in BASH_PARTS]
        found |= {match[1] for match in FUNCTION.finditer(runtime(tuple(sorted([*others, containers]))))}
    return found


ONLY_OUTSIDE = {"join_container", "prepare_task", "report_launch", "run_task"}
"""What only the shell outside of a container calls, from functions that the shell inside has, too."""
ONLY_FIRST = {
    "assign_ports",
    "make_control_fifos",
    "make_folders",
    "report_peer",
    "report_ports",
    "is_first_of_node",
    "prepare_node",
    "report_ports_in_pieces",
}
"""What only the first task of a node, or one without gang allocation, calls."""
OPTIONAL = tuple(use for use in ALL_USES if use not in (*BASH_PARTS, "fixed-exit-rules", "registry"))
SELECTIONS = [
    tuple(sorted((*chosen, *extra)))
    for number in (0, 1, len(OPTIONAL) - 1, len(OPTIONAL))
    for chosen in combinations(OPTIONAL, number)
    for extra in ((), *((name,) for name in BASH_PARTS), *((name, "registry") for name in BASH_PARTS))
    if number in (0, len(OPTIONAL)) or not extra
]


@pytest.mark.parametrize("uses", SELECTIONS, ids=",".join)
def test_a_script_contains_the_functions_that_it_calls(uses: tuple[str, ...]) -> None:
    has_containers = bool(set(uses) & set(BASH_PARTS))
    absent = [use for use in GUARDED if use not in uses and not (use == "containers" and has_containers)]
    allowed = set().union(*(GUARDED[use] for use in absent)) if absent else set()
    text = runtime(uses)
    assert missing(text, every_function()) == allowed
    # Nothing reads further than its dispatch.
    for dispatch, others in (
        (IN_CONTAINERS, ONLY_OUTSIDE | ONLY_FIRST),
        (OF_TASKS, ONLY_FIRST),
        (OF_FIRST_TASKS, set()),
    ):
        read, found, _ = text.partition(dispatch)
        assert missing(read + found, every_function()) <= allowed | others


def test_missing_functions_are_found() -> None:
    text = "f() {\n  x=1 # g\n  ! [[ $x ]] || { g; }\n}\nh() {\n  f\n}\n"
    assert missing(text, {"f", "g", "h"}) == {"g"}


def test_functions_are_defined_before_the_code_that_runs() -> None:
    """But for what runs at the end, and the dispatch of tasks, lines outside of functions only set variables."""
    text = runtime(tuple(use for use in ALL_USES if use not in BASH_PARTS[1:] and not use.startswith("plugin-")))
    text = text.partition("# ==== dispatch ====")[0]
    for part in DISPATCHES[:-1]:
        text = text.replace(load(f"runtime/{part}.sh").strip(), "")
    bare = re.sub(r"(?m)^\s*#.*", "", FUNCTION.sub("", text))
    rest = code_of(re.sub(r"\$?'[^']*'", "''", bare))
    setting = re.compile(r"(readonly( -a)? |declare -A )?(PSL_\w+=|\s|\'|\)|\[).*")
    assert [line for line in rest.split("\n") if line and not setting.match(line)] == []


@pytest.mark.parametrize("uses", SELECTIONS, ids=",".join)
def test_the_default_of_a_setting_is_set_before_those_that_it_is_the_default_of(uses: tuple[str, ...]) -> None:
    """So has a role without a number of tasks one slot. The head names each role."""
    known = {"ROLE_NAME"}
    for name, default in re.findall(r"(?m)^ +PSL_(\w+)(?:\[role\])?=\$\{PSL_\1(?:\[role\])?-(.*)\}$", runtime(uses)):
        assert set(re.findall(r"PSL_(\w+)", default)) <= known
        known.add(name)
    assert len(known) > len({"ROLE_NAME"})


def unread(text: str) -> set[str]:
    """Return the variables of a runtime that it only sets."""
    text = re.sub(r"(?m)^\s*#.*", "", text)
    read = re.sub(r"(?<![\w{$#!])PSL_\w+(?:\[[^\]]*\])?\+?=(?!=)", "", text)
    return set(re.findall(r"\bPSL_\w+", text)) - set(re.findall(r"\bPSL_\w+", read))


@pytest.mark.parametrize("uses", SELECTIONS, ids=",".join)
def test_a_script_sets_no_unused_variables(uses: tuple[str, ...]) -> None:
    """A part that reads a variable also declares it. Without GPUs nothing reads what divides them."""
    readers = {
        "gpus": {"PSL_CPU_MASKS", "PSL_GPUS_ON"},
        "binding": {"PSL_MISMATCHES"},
        "infiniband": {"PSL_DIVIDED_GPUS"},
    }
    assert unread(runtime(uses)) <= set().union(*(names for use, names in readers.items() if use not in uses), ())


def test_only_ranks_in_containers_have_lines_for_them() -> None:
    """A script of ranks, or of containers, has every line that it had without such ranks."""
    both = str(runtime(("charliecloud", "native-mpi")))
    assert "join_container" in both
    for uses in ((), ("native-mpi",), ("charliecloud",)):
        text = str(runtime(uses))
        assert not re.search(r"has_ranks|join_container|prepare_ranks|-ranks\"|start_first_rank", text)
        assert ("launch start_commands\n" in text.partition("run_follower_rank() {")[2]) == (uses == ("native-mpi",))
    assert not re.search("# (?:only|unless): ", both)


def test_unknown_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing-like-it"):
        runtime(("nothing-like-it",))

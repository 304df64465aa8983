"""A script has the parts of the runtime that its job uses, and all that they call has to be there."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from paislurm.translator.rendering.engine import load
from paislurm.translator.rendering.runtime_bundle import ALL_USES, runtime
from paislurm.translator.site.container_runtimes import BASH_PARTS

FUNCTION = re.compile(r"^(\w+)\(\) (?:\{ [^\n]*\}|\{\n.*?\n\})", re.DOTALL | re.MULTILINE)
CALL = (
    r"(?:^|[;&|(!]|(?<!\$)\{|\b(?:do|then|else|launch|start_group|run_interruptibly|start_in_background))\s*%s(?![\w-])"
)
DISPATCH = load("runtime/task_dispatch.sh").strip()
GUARDED = {
    "code": {"fetch_code", "make_output"},
    "containers": {
        "find_binds",
        "make_container_folders",
        "run_contained",
    },
    "export-env": {"limit_exports"},
    "hooks": {"run_hook"},
    "infiniband": {"check_infiniband", "print_infiniband_problems"},
    "native-mpi": {"join_ranks", "on_end_of_rank", "on_start_of_rank", "release_ranks", "run_follower_rank"},
    "registry": {"fetch_images_main", "stage_images"},
    "secrets": {"check_secrets", "forget_secrets", "insert_secrets"},
    "slots": {
        "describe_peer",
        "export_known_peers",
        "fill_free_slots",
        "forget_free_slot",
        "grant_retry",
        "on_free",
        "read_peers",
        "release_ports",
        "report_peer",
        "serve_slot",
    },
}
"""What is called only by jobs that use a part, and so may be missing in others."""


def code_of(text: str) -> str:
    return re.sub(r"(?m)(?:^|\s)#.*", "", text)


def missing(text: str, names: set[str]) -> set[str]:
    """Return the functions among some that a text calls and does not have."""
    own = {match[1] for match in FUNCTION.finditer(text)}
    code = code_of(text)
    return {name for name in names - own if re.search(CALL % name, code, re.MULTILINE)}


def every_function() -> set[str]:
    found = set()
    for containers in BASH_PARTS:
        others = [use for use in ALL_USES if use not in BASH_PARTS]
        found |= {match[1] for match in FUNCTION.finditer(runtime(tuple(sorted([*others, containers]))))}
    return found


OPTIONAL = tuple(use for use in ALL_USES if use not in (*BASH_PARTS, "openpai-exit-rules", "registry"))
SELECTIONS = [
    tuple(sorted((*chosen, *extra)))
    for number in (0, 1, 2, len(OPTIONAL))
    for chosen in combinations(OPTIONAL, number)
    for extra in ((), *((name,) for name in BASH_PARTS), *((name, "registry") for name in BASH_PARTS))
]


@pytest.mark.parametrize("uses", SELECTIONS, ids=",".join)
def test_a_script_has_what_it_calls(uses: tuple[str, ...]) -> None:
    has_containers = bool(set(uses) & set(BASH_PARTS))
    absent = [use for use in GUARDED if use not in uses and not (use == "containers" and has_containers)]
    allowed = set().union(*(GUARDED[use] for use in absent)) if absent else set()
    text = runtime(uses)
    assert missing(text, every_function()) == allowed
    # A task reads no further than its dispatch.
    task = text[: text.index(DISPATCH) + len(DISPATCH)]
    assert missing(task, every_function()) <= allowed


def test_what_is_missing_is_found() -> None:
    text = "f() {\n  x=1 # g\n  ! [[ $x ]] || { g; }\n}\nh() {\n  f\n}\n"
    assert missing(text, {"f", "g", "h"}) == {"g"}


def test_functions_come_before_what_runs() -> None:
    """But for what runs at the end, and the dispatch of tasks, lines outside of functions only set variables."""
    text = runtime(())
    for part in ("task_dispatch", "dispatch"):
        text = text.replace(load(f"runtime/{part}.sh").strip(), "")
    bare = re.sub(r"(?m)^\s*#.*", "", FUNCTION.sub("", text))
    rest = code_of(re.sub(r"\$?'[^']*'", "''", bare))
    setting = re.compile(r"(readonly( -a)? |declare -A )?(PSL_\w+=|\s|\'|\)|\[).*")
    assert [line for line in rest.split("\n") if line and not setting.match(line)] == []


def test_unknown_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing-like-it"):
        runtime(("nothing-like-it",))

"""One word for one thing, the field's: words that were given up stay out of code, messages, keys, docs and scripts."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[2]

NAMES = {
    # protocol
    "Fault": "Diagnostic", "faults_text": "diagnostics_text", "Collector": "DiagnosticCollector",
    "Place": "Location or SlurmTarget", "place_in": "location_in", "place_of": "target_of", "mirror": "parse_model",
    "HopelessError": "FatalReadError", "js_text": "js_string", "NoTextError": "NotAStringError",
    "Assembled": "BuiltCommand", "assemble": "build_command", "Closed": "StrictModel", "Open": "OpenModel",
    "one_of": "choice", "unmarked": "reveal", "overridden": "apply_overrides", "arounds": "hooks_by_role",
    "Around": "Hooks", "Moment": "Phase", "wish": "requested", "wishes": "slurm_options",
    "Wishes": "OutputMode", "RoleWishes": "RoleSlurmOptions", "SlurmWishes": "SlurmOptions",
    "Switches": "CompatOptions", "Compat": "JobCompatOptions", "NOT_YET": "UNSUPPORTED",
    # planning
    "FOR_EVER": "RESTART_ALWAYS", "worlds": "mpi_worlds", "Ranks": "RankCount", "SlurmWorld": "SlurmMpiWorld",
    "caveats": "plan_warnings", "never_starts": "infeasible", "alike": "compatible", "unmapped": "ignored_hints",
    "arrange": "choose_layout", "arrangement": "allocation", "Arrangement": "Allocation", "Needs": "Overheads",
    "divided_up": "ceil_div", "tasks_on": "node_capacity", "fit_together": "allocate_disjoint",
    "role_fabric": "role_infiniband", "RoleFabric": "RoleInfiniband", "Fabric": "InfinibandSettings",
    "variables_with": "variables_enabled", "variables_without": "variables_disabled",
    # state and monitor
    "survey": "poll_jobs", "examine": "evaluate", "Facts": "Evidence", "facts": "evidence", "Standing": "JobStatus",
    "standing": "job_status", "standings": "summaries", "Means": "Dependencies", "Again": "RetryAfter",
    "Over": "StopRetrying", "adopt": "recover", "advanced": "apply", "shaped": "decode", "Only": "Constraint",
    "DamagedError": "CorruptDataError", "whole_or_none": "optional_int", "whole_word": "parse_int",
    "retire": "archive", "Notice": "Notification", "notice": "notification", "Deliveries": "NotificationSender",
    "deliveries": "sender", "keeper": "backend_label", "answered": "backend_reachable", "damage": "read_errors",
    "look_at": "refresh", "look_at_all": "refresh_all", "leaves_node": "exclude_node",
    "longest_poll": "max_poll_interval", "mended": "fixed",
    # command line and backends
    "put_json": "print_json", "put_schema": "print_schema",
    "put_table": "print_table", "put_file": "print_file", "put_view": "print_view",
    "say_faults": "log_diagnostics", "Wanted": "LogSelection", "traced": "locate_refusal", "teller": "progress",
    "OWN_FAULT": "INTERNAL_ERROR", "HereRunner": "LocalRunner", "AWAY": "UNREACHABLE", "Marks": "ProcessFilter",
    "lost_nodes": "unavailable_nodes", "explains": "precedence", "signs": "watched_paths",
}  # fmt: skip
"""Names of classes, functions, fields, parameters and variables, and what they are called now."""
BOUNDS = re.compile(r"_*(MOST|LARGEST|LONGEST|WIDEST|DEEPEST|FURTHEST|SHORTEST)_\w+")
"""A bound is MAX_ or MIN_."""
PHRASES = {
    "stands twice": "duplicate",
    "leads to nothing": "undefined",
    "lead to nothing": "undefined",
    "in a circle": "cycle",
    "closes a circle": "cycle",
    "changes nothing": "has no effect",
    "change nothing": "have no effect",
    "keeps its place": "is held",
    "gives no answer": "does not respond",
    "a fault of paislurm": "internal error",
    "nobody will be told": "no notifications will be sent",
    "the file is right": "the file is valid",
    "is right, and": "is valid, and",
    "it stands to the": "name the thing",
    "will be told that the job": "no notifications will be sent when the job",
}
"""Phrases of messages, documentation and comments, and the plain word."""
KEYS = {
    "transientCeiling": "maxTransientRetries",
    "transient_ceiling": "max_transient_retries",
    "restartLimit": "maxRestarts",
    "longestPoll": "maxPollInterval",
    "leavesNode": "excludeNode",
    "leaves_node": "exclude_node",
    "time.debug": "time.debugHold",
    "variables.with": "variables.enabled",
    "variables.without": "variables.disabled",
    "left_out": "excluded_nodes",
    "mended": "fixed",
}
"""Keys of job files, site profiles, the journal and `--json`."""
BASH = {
    "become": "exec_with_exports", "emit": "cat_stdin", "give_up": "die", "hold_place": "hold_for_debug",
    "make_roots": "make_container_folders", "order": "send_command", "say": "log", "take_in": "dispatch_event",
    "open_bell": "open_control_fifo", "leave_bell": "close_control_fifo", "mark_bells": "mark_control_fifos",
    "make_bells": "make_control_fifos",
    "hear": "handle_control_message", "is_heard": "has_reader",
}  # fmt: skip
"""Functions of the runtime."""


FOLDERS = ("translator", "backends", "tests")


def python_files(folders: Sequence[str] = FOLDERS) -> list[Path]:
    found = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    return [file for file in found if file != Path(__file__)]


@functools.cache
def tokens(folders: Sequence[str] = FOLDERS) -> list[tuple[str, tokenize.TokenInfo]]:
    """Return names, texts and comments of the code with their files. `make check` sees names inside f-strings."""
    kinds = (tokenize.NAME, tokenize.STRING, tokenize.COMMENT)
    return [
        (file.relative_to(ROOT).as_posix(), token)
        for file in python_files(folders)
        for token in tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline)
        if token.type in kinds
    ]


@functools.cache
def lines(*, code: bool) -> list[tuple[str, str]]:
    """Return each line of what people read, and of Python too, with where it stands."""
    return [
        (f"{file.relative_to(ROOT)}:{number}", line)
        for file in (*(python_files() if code else ()), *texts())
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    ]


def texts() -> list[Path]:
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    tables = [file for folder in ("translator", "examples") for file in sorted((ROOT / folder).rglob("*.yaml"))]
    scripts = [file for file in sorted((ROOT / "templates").rglob("*")) if file.suffix in (".sh", ".j2")]
    return [*pages, *tables, *scripts]


def test_old_names_stay_away() -> None:
    found: list[str] = []
    for file, token in tokens(("translator", "backends")):
        if token.type != tokenize.NAME:
            continue
        if token.string in NAMES:
            found.append(f"{file}:{token.start[0]}: {token.string} is {NAMES[token.string]}")
        elif BOUNDS.fullmatch(token.string):
            found.append(f"{file}:{token.start[0]}: {token.string}: a bound is MAX_ or MIN_")
    assert found == []


def test_old_names_are_none_of_the_new_ones() -> None:
    """A table that sends a word to a word that it refuses cannot be followed."""
    new = {word for text in (*NAMES.values(), *KEYS.values()) for word in re.findall(r"\w+", text)}
    assert new & (NAMES.keys() | KEYS.keys()) == set()


@pytest.mark.parametrize("phrase", PHRASES)
def test_old_phrases_stay_away(phrase: str) -> None:
    pattern = re.compile(rf"\b{re.escape(phrase)}\b")
    found = [f"{where}: say {PHRASES[phrase]!r}" for where, line in lines(code=True) if pattern.search(line)]
    assert found == []


@pytest.mark.parametrize("key", KEYS)
def test_old_keys_stay_away(key: str) -> None:
    pattern = re.compile(rf"(?<![\w.]){re.escape(key)}(?!\w)")
    found = [f"{where}: {key} is {KEYS[key]}" for where, line in lines(code=False) if pattern.search(line)]
    found += [
        f"{file}:{token.start[0]}: {key} is {KEYS[key]}"
        for file, token in tokens()
        if token.type in (tokenize.STRING, tokenize.COMMENT) and pattern.search(token.string)
    ]
    assert found == []


@pytest.mark.parametrize("name", BASH)
def test_old_functions_of_the_runtime_stay_away(name: str) -> None:
    pattern = re.compile(rf"^{name}\(\)", re.MULTILINE)
    scripts = sorted((ROOT / "templates").rglob("*.sh"))
    assert [file.name for file in scripts if pattern.search(file.read_text(encoding="utf-8"))] == []

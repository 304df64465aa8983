"""Many events at once are read in blocks, and each is acted on, in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .bash import run

READ = """
cd "$1"; mkfifo events; exec {PSL_EVENT_FD}<>events
on_start() { printf '%s\\n' "$3"; }
on_unprepared() { printf '%s\\n' "$*"; }
for index in {0..199}; do
  printf '%s\\n' "start 0 $index $index 0 n1 0 1" "start 0 x $index 0 n1 0 1"
done >&"$PSL_EVENT_FD"
printf 'unprepared n1 no * here\\n' >&"$PSL_EVENT_FD"
read_all_events
"""


@pytest.mark.parametrize("size", [65536, 1000, 7])
def test_events_are_read_across_block_boundaries(tmp_path: Path, size: int) -> None:
    """A block may end within a line."""
    code = f"dd() {{ command dd bs={size} count=1; }}\n{READ}"
    assert run(code, str(tmp_path)).splitlines() == [*map(str, range(200)), "n1 no * here"]


@pytest.mark.parametrize(
    ("event", "is_one"),
    [
        ("start 0 1 1 0 n1 4 1000", True),
        ("start 0 1 -1 0 n1 4 1000", False),
        ("start 0 1 a[0] 0 n1 4 1000", False),
        ("start 0 1 1 0 n1 4", False),
        ("exit 0 1 1 0 1 -1200 permanent 1000", True),
        ("exit 0 1 1 0 1 - permanent 1000", False),
        ("exit 0 1 1 0 1 --1 permanent 1000", False),
        ("exit 0 1 1 0 1 1 Permanent[0] 1000", False),
        ("failed 0 1 1 0 start plugin a_b-9", True),
        ("failed 0 1 1 0 start plugin a*b", False),
        ("lost 0 n1", True),
        ("lost x n1", False),
        ("died 0 1 2 137", True),
        ("died 0 1,2 2 137", False),
        ("ports 0 1 http:1,2 x.y~z:+3", True),
        ("ports 0 1 http:$(x)", False),
        ("quiet 0 1 1 0", True),
        ("quiet 0 1 1", False),
        ("moved 0 a[0] 1 0", False),
        ("behind 1 2", False),
        ("behind x", False),
        ("stalled 0 1 0 50 1,2 a:b words", True),
        ("stalled 0 1 0 x 1 a", False),
        ("stalled 0 1 0 50 1 a:$(x)", False),
        ("stalled 0 1 0 50 , , words", True),
        ("", False),
    ],
)
def test_events_are_recognized(event: str, is_one: bool) -> None:
    assert run("is_event $1 && echo yes || echo no", event) == ("yes" if is_one else "no") + "\n"


@pytest.mark.parametrize(
    ("outcome", "age", "state"),
    [("failed", 400, "FAILED"), ("failed", 0, "STOPPED"), ("interrupted", 400, "STOPPED")],
)
def test_a_task_that_ended_before_the_decision_failed_by_itself(outcome: str, age: int, state: str) -> None:
    """Its report comes late, and the TERM of the decision has reached its shell meanwhile."""
    code = """
        PSL_GANG=1 PSL_ROLE_NAME=(w) PSL_BEGAN_UPTIME=1000 PSL_DECIDED_AFTER=500 PSL_UPTIME=1600 PSL_NOW=7
        PSL_OUTCOME=$1
        read_uptime() { :; }
        dispatch_lines 'start 0 0 0 0 n1 1 1' 'term 0 0 0 0' "exit 0 0 0 0 137 137 unknown 1 $2"
        print_task_result 0 0 w
    """
    said = json.loads(run(code, outcome, str(age)))
    assert (said["state"], said["ended_after_ms"], said["ended_at"]) == (state, 600 - age, 7)

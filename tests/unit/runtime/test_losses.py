"""Tasks of which no report comes: their node is lost, or the shell around them dies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .bash import run

BOTH_START = ("start 0 0 0 0 n1 1 1", "start 0 1 1 0 n2 1 1")
FIRST_SUCCEEDS = "exit 0 0 0 0 0 0 success 1"
SECOND_FAILED = "start 0 1 1 0 n2 1 1\nexit 0 1 1 0 7 255 unknown 1\n"


@dataclass(frozen=True)
class Told:
    """How the script decided, how its tasks stand, and what it ordered slots to run."""

    outcome: str
    reason: str
    tasks: dict[str, str]
    orders: list[str]


def lose(
    folder: Path,
    *events: str,
    gang: bool = True,
    log: str = "",
    report: str = "",
    failed: int = -1,
    retries: int = 0,
    max_transient_retries: int = 1,
) -> Told:
    """Supervise a role of two tasks. `log` is what srun said, `report` what the second slot left in a file."""
    (folder / "srun").mkdir()
    (folder / "tasks").mkdir()
    (folder / "srun/0-w.log").write_text(log)
    (folder / "tasks/n2.log").write_text(report)
    values = f"PSL_GANG={int(gang)} PSL_MIN_FAILED=({failed}) PSL_TASK_RETRIES=({retries})"
    values += f" PSL_MAX_TRANSIENT_RETRIES={max_transient_retries} PSL_MAX_RESTARTS={max_transient_retries}"
    lines = "".join(f"{event}\n" for event in events)
    said = [line.split(" ", 1) for line in run(f"{values}\n{FAKES}", lines, cwd=folder).splitlines()]
    words = {name: rest for name, rest in said if name in ("outcome", "reason")}
    tasks = dict(rest.split(" ", 1) for name, rest in said if name == "task")
    return Told(words["outcome"], words["reason"], tasks, [rest for name, rest in said if name == "order"])


@pytest.mark.parametrize("failed", [-1, 1, 2])
@pytest.mark.parametrize("gang", [True, False])
def test_a_lost_node_ends_the_job_despite_tolerated_failures(tmp_path: Path, failed: int, gang: bool) -> None:
    reported = lose(tmp_path, *BOTH_START, "lost 0 n2", gang=gang, failed=failed, retries=1)
    assert (reported.outcome, reported.tasks) == ("failed -1001 transient", {"0.0": "running", "0.1": "failed -1001"})
    assert reported.reason == "node n2 was lost while role w ran"


@pytest.mark.parametrize("failed", [-1, 1])
@pytest.mark.parametrize(
    "log",
    [
        "srun: error: Node failure on n2\n",
        "slurmstepd-n1: error: *** STEP 2.3 ON n1 CANCELLED AT 2026-11-21T07:50:46 DUE TO NODE FAILURE, SEE\n",
    ],
)
def test_a_step_ended_by_a_lost_node_is_recognized(tmp_path: Path, log: str, failed: int) -> None:
    reported = lose(tmp_path, *BOTH_START, FIRST_SUCCEEDS, "step 0 1", log=log, failed=failed)
    assert (reported.outcome, reported.reason) == ("failed -1001 transient", "a node was lost while role w ran")


@pytest.mark.parametrize(
    ("answers", "begun", "said"),
    [
        ("0", "0", ""),
        ("0 0", "0", "failed 252 permanent Slurm gave role w its CPUs but found no room for its step in 300 s"),
        ("1 0", "0", ""),
        ("0 1 0", "0", ""),
        ("1 0 0", "0", "failed 252 permanent Slurm gave role w its CPUs but found no room for its step in 300 s"),
        ("0 0 0", "0 1", ""),
    ],
)
def test_a_step_without_free_resources_is_given_up(answers: str, begun: str, said: str) -> None:
    """It is given up when Slurm has answered twice meanwhile; `answers` are statuses of scontrol, a look each."""
    code = """
        PSL_ROLE_NAME=(v w) PSL_STEP_RUNNING=(1 1) SLURM_JOB_ID=7 PSL_NOW=1000 PSL_STEP_DEADLINE=1150
        for role in $2; do PSL_STEP_ID[role]=3; done
        decide() { printf '%s\\n' "$*"; }
        scontrol() { return "$answer"; }
        for answer in $1; do
          PSL_NOW=$((PSL_NOW + 149)) && fail_waiting_steps
          PSL_NOW=$((PSL_NOW + 1)) && fail_waiting_steps
        done
    """
    assert run(code, answers, begun).partition(", as happens")[0] == said


@pytest.mark.parametrize(
    ("max_transient_retries", "words"),
    [
        (0, " and is not retried, because the site allows no retries"),
        (1, " after 1 transient retry, the most that the site allows"),
        (2, " after 2 transient retries, the most that the site allows"),
    ],
)
def test_reaching_the_transient_limit_of_a_task_is_reported(
    tmp_path: Path, max_transient_retries: int, words: str
) -> None:
    events = []
    for attempt in range(max_transient_retries + 1):
        events += [f"start 0 0 0 {attempt} n1 1 1", f"exit 0 0 0 {attempt} 130 130 transient 1"]
    reported = lose(tmp_path, *events, gang=False, failed=1, max_transient_retries=max_transient_retries)
    assert reported.reason == f"task w-0 failed with status 130{words}: 1 failed task of role w ends the job"


@pytest.mark.parametrize(
    ("limit", "words"),
    [(0, " and is not retried, because the site allows no retries"), (1, " after 1 retry"), (2, " after 2 retries")],
)
def test_reaching_the_restart_limit_of_a_task_is_reported(tmp_path: Path, limit: int, words: str) -> None:
    events = []
    for attempt in range(limit + 1):
        events += [f"start 0 0 0 {attempt} n1 1 1", f"exit 0 0 0 {attempt} 3 255 unknown 1"]
    reported = lose(tmp_path, *events, gang=False, failed=1, retries=-2, max_transient_retries=limit)
    assert reported.outcome == "failed 255 unknown"
    assert reported.reason.startswith(f"task w-0 failed with status 3{words}")


DEAD, SEVENTH = "died 0 1 1 137", "exit 0 1 1 0 7 255 unknown 1"
BOTH_FREE = ("free 0 0", "free 0 1")
OUT_OF_MEMORY = "srun: error: n1: tasks 0-1: Out Of Memory\n"
SUCCESS = "succeeded 0 success"
LOSSES: dict[str, tuple[tuple[str, ...], dict[str, Any], str, dict[str, str] | None, list[str] | None]] = {
    "a task that ended before its node was lost keeps its exit": (
        (*BOTH_START, SEVENTH, "lost 0 n2"), {},
        "failed -1001 transient", {"0.0": "running", "0.1": "ended"}, None,
    ),
    # Its task has failed while its step goes on.
    "the death of its shell fails a task": (
        (*BOTH_START, DEAD), {"failed": 1}, "failed 255 unknown", {"0.0": "running", "0.1": "failed 255"}, None,
    ),
    # All of them; what comes of a task afterwards is too late.
    "shells killed for memory are reported": (
        (*BOTH_START, "died 0 0 1 137", "exit 0 1 1 0 0 0 success 1"), {"log": OUT_OF_MEMORY, "failed": 2},
        "failed -1200 permanent", None, None,
    ),
    # They came by the channel, and the death of the shell makes the script read the node's file.
    "reports that are read twice count once": (
        (*BOTH_START, SEVENTH, DEAD, FIRST_SUCCEEDS), {"report": SECOND_FAILED, "failed": 2},
        SUCCESS, {"0.0": "succeeded", "0.1": "failed 255"}, None,
    ),
    # And the dead slot is given nothing any more.
    "the task of a dead slot is retried in another slot": (
        (*BOTH_FREE, *BOTH_START, DEAD, FIRST_SUCCEEDS, "free 0 0"), {"gang": False, "retries": 1},
        SUCCESS, None, ["run 0 0 0", "run 1 1 0", "run 0 1 1", "quit"],
    ),
    # Another slot takes it as it is.
    "an unstarted task of a dead slot uses no retry": (
        (*BOTH_FREE, DEAD, BOTH_START[0], FIRST_SUCCEEDS, "free 0 0"),
        {"gang": False, "max_transient_retries": 0, "failed": 1},
        SUCCESS, None, ["run 0 0 0", "run 1 1 0", "run 0 1 0", "quit"],
    ),
    "a dead idle slot gets no task": (
        (*BOTH_FREE, *BOTH_START, FIRST_SUCCEEDS, "free 0 0", "died 0 0 0 137", SEVENTH, "free 0 1"),
        {"gang": False, "retries": 1}, SUCCESS, None, ["run 0 0 0", "run 1 1 0", "run 1 1 1", "quit"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "options", "outcome", "tasks", "orders"), LOSSES.values(), ids=LOSSES)
def test_a_task_whose_node_or_shell_is_lost(
    tmp_path: Path,
    events: tuple[str, ...],
    options: dict[str, Any],
    outcome: str,
    tasks: dict[str, str] | None,
    orders: list[str] | None,
) -> None:
    reported = lose(tmp_path, *events, **options)
    assert (reported.outcome, reported.tasks) == (outcome, tasks or reported.tasks)
    assert reported.orders == (orders or reported.orders)


def test_the_death_of_a_task_shell_after_its_report_is_ignored(tmp_path: Path) -> None:
    """What came to the node's file, and never to the channel, is a report."""
    reported = lose(tmp_path, BOTH_START[0], DEAD, report=SECOND_FAILED, failed=1)
    assert (reported.outcome, reported.tasks["0.1"]) == ("failed 255 unknown", "failed 255")
    assert "with status 7" in reported.reason


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ("srun: error: n1: task 0: Killed", ["died 3 0 0 137"]),
        ("srun: error: n[1-2]: tasks 0,4-6: Killed", ["died 3 0 0 137", "died 3 4 6 137"]),
        ("srun: error: n1: task 2: Terminated", ["died 3 2 2 143"]),
        ("srun: error: n1: task 2: Exited with exit code 9", ["died 3 2 2 9"]),
        ("srun: error: n1: task 0: Segmentation fault (core dumped)", ["died 3 0 0 137"]),
        ("srun: error: Node failure on n4", ["lost 3 n4"]),
        ("srun: error: Task launch for StepId=2+1.0 failed on node n2: Job prolog failed", ["unlaunched 3 n2"]),
        ("srun: Job step aborted: Waiting up to 7 seconds for job step to finish.", []),
        ("paislurm: error: srun: error: n1: task 0: Killed", []),
    ],
)
def test_messages_of_srun_become_events_and_are_logged(tmp_path: Path, line: str, events: list[str]) -> None:
    """All of it is in the log, a last line without an end as well."""
    assert run('watch_srun 3 "$1"', str(tmp_path / "log"), stdin=f"before\n{line}").splitlines() == events
    assert (tmp_path / "log").read_text() == f"before\n{line}\n"


def test_srun_messages_are_read_even_without_a_writable_log(tmp_path: Path) -> None:
    code = 'watch_srun 3 "$1" 2>/dev/null'
    assert run(code, str(tmp_path / "missing/log"), stdin="srun: error: Node failure on n4\n") == "lost 3 n4\n"


FAKES = r"""
PSL_MIN_SUCCEEDED_OF_JOB=-1 PSL_GRACE=5 PSL_NOW=1000
PSL_ROLE_NAME=(w) PSL_ROLE_FOLDER=(0-w) PSL_INSTANCES=(2) PSL_SLOTS=(2)
PSL_MIN_SUCCEEDED=(-1) PSL_SUCCEEDED=(0) PSL_FAILED=(0) PSL_NEXT_TASK=(0)
PSL_STEP_RUNNING=(1) PSL_TASK_COUNT=2 PSL_NODES_OF=('n1 n2')

# Whoever looks at the clock finds that time has passed, and then what a slot was ordered has been done.
read_clock() { PSL_NOW=$((PSL_NOW + 1)); }
write_result() { :; }
log() { :; }
signal_steps() { tell 'step 0 0'; }
tell() { printf '%s\n' "$@" >&"$PSL_EVENT_FD"; }
send_command() {
  printf 'order %s\n' "$2"
  local word slot index attempt
  read -r word slot index attempt <<<"$2"
  if [[ $word == quit ]]; then
    tell 'step 0 0'
  elif ((attempt || index != slot)); then
    tell "start 0 $slot $index $attempt n1 1 1" "exit 0 $slot $index $attempt 0 0 success 1" "free 0 $slot"
  fi
}

mkfifo events && exec {PSL_EVENT_FD}<>events
printf '%s' "$1" >&"$PSL_EVENT_FD"
supervise
printf 'outcome %s %s %s\nreason %s\n' "$PSL_OUTCOME" "$PSL_OUTCOME_CODE" "$PSL_OUTCOME_BEHAVIOUR" "$PSL_OUTCOME_REASON"
for task in "${!PSL_STATE[@]}"; do
  code=''
  [[ ${PSL_STATE[$task]} != failed ]] || code=" ${PSL_CODE_OF[$task]}"
  printf 'task %s %s%s\n' "$task" "${PSL_STATE[$task]}" "$code"
done
"""

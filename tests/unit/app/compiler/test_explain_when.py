"""Scenarios as users write them, and the answers."""

from __future__ import annotations

import re

import pytest

from paislurm.translator.app.what_if.outcome import answered, events_of, setting_of
from paislurm.translator.app.what_if.rule_text import ScenarioAnswer
from paislurm.translator.app.what_if.scenario import FORMS, Event
from paislurm.translator.cli.output.explained import scenario_text
from paislurm.translator.errors import UsageError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site

from ...protocol.jobs_v1 import job as v1

ROLE = """
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands: [python train.py]
"""
JOB = f"""\
protocolVersion: 2
name: demo
type: job
jobRetryCount: 1
prerequisites:
  - {{name: image, type: dockerimage, uri: debian}}
taskRoles:
  ps:{ROLE}\
  worker:
    instances: 4
    completion: {{minFailedInstances: 2, minSucceededInstances: 4}}{ROLE}\
  worker_3:
    instances: 4{ROLE}"""
WORKER = [(1, index) for index in range(4)]


def events(text: str) -> tuple[Event, ...]:
    compiled = compile_job(JOB)
    return events_of(compiled, setting_of(compiled, "alice"), text)


def answer(text: str, job: str = JOB) -> ScenarioAnswer:
    return answered(compile_job(job), text, "alice")


@pytest.mark.parametrize(
    ("text", "tasks", "count", "code"),
    [
        ("worker-0 exits 137", WORKER[:1], 0, 137),
        ("Worker-0 EXIT 1".lower(), WORKER[:1], 0, 255),
        ("worker exit 1", WORKER, 0, 255),
        ("worker-[01] get code -1200", WORKER[:2], 0, -1200),
        ("worker-0 gets code 232", WORKER[:1], 0, 232),
        ("worker_3 exit 1", [(2, index) for index in range(4)], 0, 255),
        ("worker_3-3  exits  1", [(2, 3)], 0, 255),
        ("all exit 0", [(0, 0), *WORKER, *[(2, index) for index in range(4)]], 0, 0),
        ("2 of worker exit 1", WORKER, 2, 255),
        ("2 workers exit 1", WORKER, 2, 255),
        ("worker-0 exits with 1", WORKER[:1], 0, 255),
        ("worker-0 exits SIGKILL", WORKER[:1], 0, 137),
        ("worker-0 exits term", WORKER[:1], 0, 143),
    ],
)
def test_tasks_and_their_ends_are_understood(text: str, tasks: list[tuple[int, int]], count: int, code: int) -> None:
    (event,) = events(text)
    assert (event.kind, list(event.tasks), event.count, event.code) == ("exit", tasks, count, code)


@pytest.mark.parametrize(
    ("text", "kind", "state"),
    [
        ("timeout", "time", ""),
        ("PREEMPTED", "slurm", "PREEMPTED"),
        ("boot_fail", "slurm", "BOOT_FAIL"),
        ("a node is lost", "node", ""),
        ("node of worker-0 is lost", "node", ""),
        ("cancelled", "cancel", ""),
        ("cancelled by root", "cancel", ""),
        ("2 nodes are lost", "node", ""),
        ("worker stalls", "stall", ""),
        ("the disk is full", "script", ""),
    ],
)
def test_events_of_the_job_are_understood(text: str, kind: str, state: str) -> None:
    (event,) = events(text)
    assert (event.kind, event.state) == (kind, state)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("worker-0 exts 1", 1, "`worker-0 exts 1` is not an event"),
        ("a node is lost,  worker-9 exits 1", 18, "the job has no task or role `worker-9`"),
        ("worker-0 exits 256", 1, "256 is no exit status"),
        ("worker-0 exits SIGNONE", 1, "SIGNONE is no signal"),
        ("preflight fails on node of worker-0", 1, "the job has no preflight"),
        ("worker-0 gets code 256", 1, "no task the code 256"),
        ("5 of worker exit 1", 1, "worker has 4 tasks, not 5"),
        ("node of worker is lost", 1, "`worker` has 4 tasks"),
        (" , ", 0, "is empty"),
        ("worker-0 exits 1, worker-0 exits 1", 19, "cannot happen then: worker-0 has ended"),
        ("Slurm refuses", 1, "`Slurm refuses` is not an event"),
    ],
)
def test_a_wrong_scenario_is_reported_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        answer(text)
    (diagnostic,) = caught.value.diagnostics
    assert words in diagnostic.message
    assert (diagnostic.location.column if diagnostic.location else 0) == column


GUARDED = JOB.replace(
    "taskRoles:", "extras:\n  slurm:\n    preflight: true\n    progress: {within: 10m, action: end}\ntaskRoles:"
)


@pytest.mark.parametrize("example", re.findall(r"\S+ {2,}(\S.*)$|^ {4,}(\S.*)$", FORMS, re.MULTILINE))
def test_each_example_of_a_form_is_understood(example: tuple[str, str]) -> None:
    text = re.sub(r"\([^)]*\)", "", "".join(example))
    for event in filter(None, map(str.strip, text.split(","))):
        assert answer(event, GUARDED).attempts


@pytest.mark.parametrize(
    ("text", "job", "rule", "code"),
    [
        ("the disk is full", JOB, "the batch script ends the attempt, because", -1406),
        ("preflight fails on node of worker-1", GUARDED, "before any task starts", -1408),
        ("worker stalls", GUARDED, "a stall ends the attempt", -1407),
    ],
)
def test_ends_by_the_script_are_played(text: str, job: str, rule: str, code: int) -> None:
    first, *_ = answer(text, job).attempts
    assert rule in (first.rule or "")
    assert first.exit_code == code


def test_a_stall_that_is_only_reported_ends_nothing() -> None:
    [attempt] = answer("worker-0 stalls").attempts
    assert (attempt.state, attempt.exit_code) == ("RUNNING", None)
    assert "`status` tells it" in (attempt.events[0].meaning or "")


def test_every_wrong_event_is_reported() -> None:
    with pytest.raises(UsageError) as caught:
        answer("nonsense, a node is lost, more")
    assert len(caught.value.diagnostics) == 2
    assert "--help" in caught.value.diagnostics[0].hint


def test_the_answer_names_rule_others_retry_and_budget() -> None:
    (found,) = answer("worker-0 exits 137, worker-1 exits 1").attempts
    assert (found.completion_rule, found.deciding_task, found.exit_code) == ("C2", "worker-1", 255)
    assert found.rule == "worker-1 decides: 2 failed tasks of role worker fail the job (minFailedInstances, line 14)"
    assert found.others == "ps-0,worker-[2-3],worker_3-[0-3] are stopped: TERM, and KILL after 20 s"
    assert (found.next_attempt, found.min_delay, found.max_delay) == (1, 0, 0)
    assert found.retry_rule == "attempt 2 at once; retry 1 of 1"


def test_later_events_happen_in_the_next_attempt_or_not_at_all() -> None:
    found = answer("ps exits 1, ps exits 1, PREEMPTED")
    assert [(each.attempt, each.retry_rule) for each in found.attempts] == [
        (0, "attempt 2 at once; retry 1 of 1"),
        (1, "none: its retry is used up"),
    ]
    assert (found.attempts[1].state, found.unreached) == ("FAILED", ("PREEMPTED",))


def test_an_undecided_job_goes_on() -> None:
    (found,) = answer("worker-0 exits 1").attempts
    assert (found.state, found.exit_code, found.retry_rule, found.others) == ("RUNNING", None, None, None)
    assert (found.rule or "").startswith("nothing decides yet: 1 of 2 failed tasks of role worker that decide the job")


def test_a_random_delay_is_a_range() -> None:
    (found,) = answer("ps gets code 251").attempts
    assert (found.min_delay, found.max_delay) == (60, 900)


def test_the_words_of_protocol_v1_are_its_own() -> None:
    (found,) = answer("all exit 1", v1()).attempts
    assert "minFailedTaskCount" in (found.rule or "")
    assert found.retry_rule == "none: retryCount is 0"


STAYS = "; the node of ps-0 stays: no more nodes can be left out, as far as the nodes of the partition are known"


def test_the_answer_as_text() -> None:
    assert (
        scenario_text(answer("node of ps-0 is lost, TIMEOUT, cancelled"))
        == f"""\
attempt 1
  event   node of ps-0 is lost
  rule    a lost node ends its tasks and the attempt, whatever the completion policy says
  others  worker-[0-3],worker_3-[0-3] are stopped: TERM, and KILL after 20 s
  retry   attempt 2 at once; transient: retried without using the budget, 1 of 10{STAYS}
attempt 2
  event   TIMEOUT
  rule    the time limit ends the attempt
  others  ps-0,worker-[0-3],worker_3-[0-3] are stopped: TERM, and KILL after 20 s
  retry   none: code -1004 is permanent, which is never retried unless the job sets `extras.slurm.onTimeout: retry`
  job     FAILED with exit code -1004
not reached, because the job has ended: cancelled"""
    )


def with_spare(text: str, setting: str) -> ScenarioAnswer:
    site = load_site(
        "partitions: {gpu: {nodes: [{count: 9, cpus: 8, memoryMB: 99999}]}}\ndefaultPartition: gpu\n"
        "scheduler: {expeditedRequeue: true}\nretry: {maxTransientRetries: 2}\n",
        file="site.yaml",
    )
    job = f"{JOB}\nextras: {{slurm: {{{setting}, tasksPerNode: 1, layout: shared}}}}\n"
    return answered(compile_job(job, site=site), text, "alice")


def test_after_the_loss_of_a_node_all_tasks_start_anew_on_a_spare_one() -> None:
    """Their counters begin again, and the first loss without a spare node ends the attempt."""
    found = with_spare("worker-0 exits 1, a node is lost, worker-0 exits 1, node of worker-1 is lost", "spare: 1")
    first = found.attempts[0]
    assert [event.meaning for event in first.events][1] == (
        "all tasks stop, and start anew on another node and the rest, in the same Slurm job"
    )
    assert [row.task_attempt for event in first.events for row in event.task_ends] == [0, 1]
    assert (first.exit_code, first.next_attempt) == (-1001, 1)


def test_the_loss_of_the_batch_node_ends_the_attempt_despite_spare_nodes() -> None:
    (found, *_) = with_spare("node of ps-0 is lost", "spare: 1").attempts
    assert (found.exit_code, found.next_attempt) == (-1001, 1)


def test_the_loss_of_more_nodes_than_are_spare_ends_the_attempt() -> None:
    assert with_spare("2 nodes are lost", "spare: 1").attempts[0].exit_code == -1001
    assert with_spare("1 node is lost", "spare: 1").attempts[0].exit_code is None


def test_slurm_restarts_a_job_after_the_loss_of_any_node_as_often_as_the_site_allows() -> None:
    lost = "node of ps-0 is lost"
    (found, *_) = with_spare(f"{lost}, {lost}, {lost}", "requeue: expedite").attempts
    assert ["start anew" in (event.meaning or "") for event in found.events] == [True, True, False]
    assert (found.exit_code, found.next_attempt) == (-1001, 1)

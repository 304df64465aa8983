"""The division of a job's allocated time by its use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.runner import Completed
from paislurm.translator.app.session import Session
from paislurm.translator.view.cost import (
    IDLE,
    PRODUCTIVE,
    RUNNING,
    STAGING,
    STALLED,
    Allocation,
    AttemptUse,
    JobCost,
    Key,
    Work,
    cost_columns,
    cost_rows,
    job_cost,
)

from ..cli.running import Runner, user_name
from .made import Made, T, retried, task

LOST = Key("lost", "its node was lost")


def parts(cost: JobCost) -> dict[tuple[str, str | None], tuple[int, int]]:
    return {(part.use, part.lost_to): (part.node_seconds, part.gpu_seconds) for part in cost.parts}


def allocated(nodes: int = 2, gpus: int = 8, *, elapsed: int = 100) -> Allocation:
    names = tuple(f"n{number}" for number in range(nodes))
    return Allocation(begins=1000, ends=1100, elapsed=elapsed, nodes=nodes, cpus=16, gpus=gpus, node_names=names)


def attempt(key: Key, work: Sequence[Work] = (), **more: object) -> AttemptUse:
    return AttemptUse(key=key, allocations=(allocated(),), work=tuple(work), submitted_at=940, **more)  # type: ignore[arg-type]


def both(key: Key, begins: int = 1010, ends: int = 1090) -> list[Work]:
    return [Work(f"n{number}", begins, ends, 8, 4, key) for number in range(2)]


def test_staging_and_the_end_are_not_productive() -> None:
    cost = job_cost(
        [attempt(PRODUCTIVE, [Work("n0", 1010, 1090, 8, 4, PRODUCTIVE), Work("n1", 1010, 1050, 8, 2, PRODUCTIVE)])]
    )
    assert parts(cost) == {("productive", None): (120, 400), ("staging", None): (20, 80), ("idle", None): (60, 320)}
    assert (cost.node_seconds, cost.gpu_seconds, cost.waiting_seconds) == (200, 800, 60)


def test_a_failed_attempt_is_lost_after_its_last_checkpoint() -> None:
    assert parts(job_cost([attempt(LOST, both(LOST))]))["lost", LOST.failure] == (160, 640)
    found = parts(job_cost([attempt(LOST, both(LOST), mark=1070)]))
    assert [found["productive", None], found["lost", LOST.failure]] == [(120, 480), (40, 160)]
    # A checkpoint of an earlier attempt is no progress of this one.
    assert parts(job_cost([attempt(LOST, both(LOST), mark=900)]))["lost", LOST.failure] == (160, 640)


def test_stalls_are_neither_productive_nor_lost() -> None:
    found = parts(job_cost([attempt(LOST, both(LOST), mark=1070, stalls=((1050, 1075),))]))
    lost = [found[key] for key in (("stalled", None), ("productive", None), ("lost", LOST.failure))]
    assert lost == [(50, 200), (80, 320), (30, 120)]


def test_an_attempt_without_tasks_is_lost_as_a_whole() -> None:
    assert parts(job_cost([attempt(LOST)])) == {("lost", LOST.failure): (200, 800)}
    assert parts(job_cost([attempt(RUNNING)])) == {("staging", None): (200, 800)}


def test_a_failed_task_of_a_job_that_succeeded_is_lost() -> None:
    work = [Work("n0", 1000, 1100, 8, 4, PRODUCTIVE), Work("n1", 1000, 1100, 8, 4, LOST)]
    assert parts(job_cost([attempt(PRODUCTIVE, work)])) == {
        ("productive", None): (100, 400),
        ("lost", LOST.failure): (100, 400),
    }


def test_suspended_time_is_no_time() -> None:
    use = AttemptUse(key=PRODUCTIVE, allocations=(allocated(elapsed=40),), work=tuple(both(PRODUCTIVE)))
    assert parts(job_cost([use])) == {
        ("productive", None): (40, 160), ("staging", None): (20, 80), ("idle", None): (20, 80),
    }  # fmt: skip


def test_a_job_pays_for_its_cpus_and_for_nodes_only_where_they_are_whole() -> None:
    work = [Work("n0", 1000, 1100, 8, 0, PRODUCTIVE)]
    use = AttemptUse(key=PRODUCTIVE, allocations=(allocated(1, 0),), work=tuple(work))
    [part, idle] = job_cost([use]).parts
    assert (part.use, part.cpu_seconds, idle.use, idle.cpu_seconds) == ("productive", 800, "idle", 800)
    assert cost_columns(job_cost([use])) == ("use", "CPU hours", "share")
    assert cost_rows(job_cost([use]))[0] == ("productive", "0.22", "50 %")
    whole = replace(use, allocations=(replace(use.allocations[0], whole_nodes=True),))
    assert cost_columns(job_cost([whole])) == ("use", "node hours", "CPU hours", "share")
    assert cost_rows(job_cost([whole]))[-1] == ("all", "0.03", "0.44", "100 %")
    assert "node hours" not in cost_columns(job_cost([use, whole]))


TIMES = st.integers(min_value=900, max_value=1200)
KEYS = st.sampled_from([PRODUCTIVE, RUNNING, STALLED, STAGING, IDLE, LOST, Key("lost", "out of memory")])
COUNTS = st.integers(0, 9)
WORK = st.builds(Work, st.sampled_from(["n0", "n1", "n9", ""]), TIMES, TIMES, COUNTS, COUNTS, KEYS)


@st.composite
def allocations(draw: st.DrawFn) -> Allocation:
    begins, ends = sorted((draw(TIMES), draw(TIMES)))
    return Allocation(
        begins=begins,
        ends=ends,
        elapsed=draw(st.integers(0, ends - begins)),
        nodes=draw(st.integers(1, 4)),
        cpus=draw(st.integers(1, 9)),
        gpus=draw(st.integers(0, 9)),
        node_names=tuple(draw(st.lists(st.sampled_from(["n0", "n1", "n2", "n3", "n4"]), unique=True))),
    )


USES = st.builds(
    AttemptUse,
    key=KEYS,
    allocations=st.lists(allocations(), max_size=3).map(tuple),
    work=st.lists(WORK, max_size=8).map(tuple),
    mark=st.none() | TIMES,
    stalls=st.lists(st.tuples(TIMES, TIMES), max_size=3).map(tuple),
    submitted_at=st.none() | TIMES,
    ended_at=st.none() | TIMES,
)


@given(st.lists(USES, max_size=4))
def test_the_parts_sum_exactly_to_the_allocations(uses: list[AttemptUse]) -> None:
    cost = job_cost(uses)
    held = [each for use in uses for each in use.allocations]
    assert all(part.node_seconds >= 0 <= part.gpu_seconds for part in cost.parts)
    assert sum(part.node_seconds for part in cost.parts) == cost.node_seconds
    assert sum(part.cpu_seconds for part in cost.parts) == cost.cpu_seconds
    assert sum(part.gpu_seconds for part in cost.parts) == cost.gpu_seconds
    assert cost.node_seconds == sum(each.nodes * each.elapsed for each in held)
    assert cost.cpu_seconds == sum(each.cpus * each.elapsed for each in held)
    assert cost.gpu_seconds == sum(each.gpus * each.elapsed for each in held)


def answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[Sequence[str]]:
    """Make sacct print these lines; return its calls."""
    calls: list[Sequence[str]] = []

    class Sacct:
        def run(self, argv: Sequence[str], **_: object) -> Completed:
            calls.append(argv)
            return Completed(status=0, stdout="".join(f"{line}\n" for line in lines), stderr="")

    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Sacct())
    return calls


def test_status_shows_the_cost_by_one_query(jobs: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    retried(jobs, user_name())
    rows = ((4711, T + 142, 905), (4712, T + 1340, 2135), (4713, T + 4400, 5220))
    calls = answers(
        monkeypatch,
        *(
            f"{number}||||||{at}|{at + took}|{took}|cpu=96,node=4,gres/gpu=6|cpu-01,gpu-[06-08]|x"
            for number, at, took in rows
        ),
        # Another job of that number, and a component of a job of another name.
        "4711||||||1|9|8|node=9|n[1-9]|old",
        f"9999||||||{T}|{T + 9}|9|node=9|n[1-9]|other",
    )
    assert (json.loads(run("status", "resnet-a100", "--json").out)["cost"], calls) == (None, [])
    cost = json.loads(run("status", "resnet-a100", "--json", "--cost").out)["cost"]
    assert len(calls) == 1
    assert [cost[f"{unit}_seconds"] for unit in ("node", "cpu", "gpu")] == [4 * 8260, 96 * 8260, 6 * 8260]
    assert (cost["allocated_attempts"], cost["attempts_not_in_sacct"]) == (3, 0)
    shown = run("status", "resnet-a100", "--cost").out
    words = ("cost, after 9 min 40 s in the queue:", "lost: its node was lost", "The allocated time is sacct's.")
    assert [each for each in words if each not in shown] == []


def test_several_jobs_have_one_query_and_one_table(jobs: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):
        made = Made(jobs, user_name(), f"job-{number}", [("worker", 1)])
        made.submitted(0, T, starts=T + 10)
        journal = made.folder.journal
        journal.write_text(journal.read_text().replace('"4711"', f'"{4711 + number}"'))
        rows = [task("worker", 0, "SUCCEEDED", 0, "n1", T + 12, T + 58)]
        made.ended(0, "SUCCEEDED", 0, "done", T + 10, T + 60, rows)
    calls = answers(monkeypatch, *(f"{number}||||||{T + 10}|{T + 60}|50|node=1|n1|x" for number in (4711, 4712)))
    shown = run("status", "job-*", "--cost").out
    assert len(calls) == 1
    assert ("cost of 2 jobs, after 20 s in the queue:" in shown, "GPU" in shown) == (True, False)


def test_without_accounting_the_records_are_used(jobs: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    retried(jobs, user_name())
    answers(monkeypatch)
    cost = json.loads(run("status", "resnet-a100", "--json", "--cost").out)["cost"]
    assert cost["attempts_not_in_sacct"] == cost["allocated_attempts"] == 3
    assert sum(part["node_seconds"] for part in cost["parts"]) == cost["node_seconds"]
    assert "sacct does not have all of 3 attempts" in run("status", "resnet-a100", "--cost").out


def test_each_run_of_a_retried_task_counts(jobs: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(jobs, user_name(), "again", [("worker", 1)])
    made.submitted(0, T, starts=T + 10)
    made.file(
        0,
        "tasks/n1.log",
        f"start 0 0 0 0 n1 0 {T + 12}\nexit 0 0 0 0 7 7 unknown {T + 40}\nstart 0 0 0 1 n1 0 {T + 45}\n",
    )
    last = {**task("worker", 0, "SUCCEEDED", 0, "n1", T + 45, T + 110), "task_attempt": 1}
    made.ended(0, "SUCCEEDED", 0, "done", T + 10, T + 110, [last])
    answers(monkeypatch, f"4711||||||{T + 10}|{T + 110}|100|node=1|n1|again")
    found = json.loads(run("status", "again", "--json", "--cost").out)["cost"]["parts"]
    assert {part["use"]: part["node_seconds"] for part in found} == {
        "productive": 65,
        "staging": 2,
        "lost": 28,
        "idle": 5,
    }


def restarted(jobs: Path, at: int, starts: int, ends: int, checkpoint_at: int | None) -> None:
    """Make a job of two tasks that began anew `at`, after the loss of n2, whose task did not report its end."""
    made = Made(jobs, user_name(), "anew", [("worker", 2)])
    made.submitted(0, T, starts=T + 10)
    starts_first = [f"start 0 {index} {index} 0 n{index + 1} 0 {T + 12}\n" for index in range(2)]
    made.file(0, "tasks/n.log", "".join([*starts_first, f"exit 0 0 0 0 143 143 unknown {T + 53}\n"]))
    rows = [task("worker", n, "SUCCEEDED", 0, f"n{2 * n + 1}", T + starts, T + ends) for n in range(2)]
    made.result(0, T + 10, T + ends, "succeeded", 0, "done", [{**row, "task_attempt": 1} for row in rows])
    result = json.loads(made.folder.result(0).read_text())
    restart = {"at": T + at, "lost_node": "n2", "spare_node": "n3", "checkpoint_at": checkpoint_at}
    made.folder.result(0).write_text(json.dumps({**result, "restarts": [restart]}))
    made.ends(0, "SUCCEEDED", 0, "done", T + 10, T + ends)
    (made.folder.path / "plan.json").write_text(json.dumps({"requeues": checkpoint_at is None}))


@pytest.mark.parametrize(
    ("rows", "more", "waited", "seconds"),
    [
        pytest.param(
            ((10, 50, 3, "n[1-3]"), (50, 110, 2, "n[1,3]")), (52, 60, 110, T + 40), 10,
            {"productive": 2 * (40 - 12) + 2 * (110 - 60), "lost": 2 * (50 - 40) + (52 - 50),
             "staging": 3 * (12 - 10) + 2 * (60 - 52), "idle": 52 - 12},
            id="spare",
        ),
        pytest.param(
            ((10, 50, 2, "n[1-2]"), (70, 130, 2, "n[1,3]")), (75, 82, 130, None), 10 + (70 - 50),
            {"productive": 2 * (130 - 82), "lost": 2 * (50 - 12), "staging": 2 * (12 - 10) + 2 * (82 - 70)},
            id="requeue",
        ),
    ],
)  # fmt: skip
def test_a_start_before_a_restart_is_lost_to_the_loss_of_a_node(
    jobs: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, rows: Sequence[tuple[int, int, int, str]],
    more: tuple[int, int, int, int | None], waited: int, seconds: dict[str, int],
) -> None:  # fmt: skip
    restarted(jobs, *more)
    answers(
        monkeypatch, *(f"4711||||||{T + a}|{T + b}|{b - a}|node={count}|{names}|anew" for a, b, count, names in rows)
    )
    cost = json.loads(run("status", "anew", "--json", "--cost").out)["cost"]
    assert {part["use"]: part["node_seconds"] for part in cost["parts"]} == seconds
    assert {part["lost_to"] for part in cost["parts"]} == {None, "its node was lost"}
    assert (cost["waiting_seconds"], cost["allocated_attempts"], cost["attempts_not_in_sacct"]) == (waited, 1, 0)
    assert cost["node_seconds"] == sum(count * (b - a) for a, b, count, _ in rows)

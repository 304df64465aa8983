"""Tests of the phases of tasks and attempts in timelines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.report.charts import axis_unit
from paislurm.translator.report.model import PHASES, Segment, segments, task_segments
from paislurm.translator.state.task_reports import Report, ScriptRun

TIME = st.none() | st.integers(0, 50)


def run(attempt: int, started: int, ended: int | None) -> Report:
    return Report(index=0, attempt=attempt, node="n1", started=started, ended=ended)


def staged(attempt: int, ended: int) -> ScriptRun:
    return ScriptRun(
        task_attempt=attempt, phase="start", name="data", exit_status=0, started_at=ended - 1, ended_at=ended
    )


@given(st.tuples(TIME, TIME, TIME, TIME), TIME)
def test_every_segment_has_a_length_and_starts_with_its_phase(times: tuple[int | None, ...], ends: int | None) -> None:
    begun = dict(zip(PHASES, times, strict=True))
    found = segments(*begun.items(), ends=ends)
    assert [part.phase for part in found] == [phase for phase in PHASES if phase in {part.phase for part in found}]
    for part in found:
        assert part.begins == begun[part.phase]
        assert part.begins < part.ends or (part.begins == part.ends and part.phase == "running")


def test_a_task_has_four_phases() -> None:
    found = tuple(task_segments([run(0, 10, 60)], [staged(0, 25)], began=4, decided=50, ends=60))
    assert [(part.phase, part.begins, part.ends) for part in found] == [
        ("waiting", 4, 10),
        ("staging", 10, 25),
        ("running", 25, 50),
        ("stopping", 50, 60),
    ]


def test_a_retried_task_waits_between_its_runs() -> None:
    found = tuple(task_segments([run(0, 10, 20), run(1, 25, None)], [], began=10, decided=None, ends=40))
    assert [(part.phase, part.begins, part.ends) for part in found] == [
        ("running", 10, 20),
        ("waiting", 20, 25),
        ("running", 25, 40),
    ]


def test_a_task_that_never_started_has_no_segment() -> None:
    assert list(task_segments([], [], began=4, decided=5, ends=6)) == []


def test_the_axis_unit_fits_the_length() -> None:
    assert [axis_unit(seconds)[0] for seconds in (0, 179, 180, 10_799, 10_800, 259_200)] == [
        "seconds", "seconds", "minutes", "minutes", "hours", "days",
    ]  # fmt: skip


def test_one_phase_is_one_segment() -> None:
    assert segments(("running", 3), ends=5) == (Segment(phase="running", begins=3, ends=5),)

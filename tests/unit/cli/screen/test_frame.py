"""What is painted: in windows of all sizes, with and without colours, of hostile names."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from paislurm.translator.app.jobs.live import Note, Tail, shown_lines
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.cli.screen.frame import HELP, frame
from paislurm.translator.cli.screen.state import State, World
from paislurm.translator.view.parts import AttemptView
from paislurm.translator.view.task import Usage

from .sights import NOW, line, many_jobs, task, training, view

JOB = f"{user_name()}~train"
HOSTILE = "a\x1b[2Jb\nc\x07"


def shown(world: World, state: State, width: int = 80, height: int = 24, **options: bool) -> list[str]:
    lines = frame(Session(clock=lambda: NOW), world, state, width, height, **options)
    assert (len(lines), max(text.cell_len for text in lines) <= width) == (height, True)
    return [text.plain.rstrip() for text in lines]


def test_urgent_jobs_come_first_and_hidden_rows_are_counted() -> None:
    rows = shown(World(polled=True, jobs=many_jobs(200)), State())
    assert rows[0] == "200 jobs   X 1 failed   r 160 running   . 39 waiting"
    assert rows[2].startswith("> X sweep-0")
    assert rows[3].startswith("  r sweep-1 ")
    (more,) = (row for row in rows if "more:" in row)
    assert more == f"  and {200 - sum('sweep-' in row for row in rows[2:-5])} more: {more.partition(': ')[2]}"
    assert any("why sweep-0 is so" in row for row in rows)


def test_the_selected_job_is_visible() -> None:
    rows = shown(World(polled=True, jobs=many_jobs(200)), State(job=f"{user_name()}~sweep-150"))
    assert [row[:13] for row in rows if row.startswith("> ")] == ["> . sweep-150"]


def test_only_jobs_that_match_the_filter_are_shown() -> None:
    world = World(polled=True, jobs=(line("bert", "RUNNING"), line("gpt", "FAILED"), line("gpt-2", "RUNNING")))
    rows = shown(world, State(words="gpt runn"))
    assert (rows[0], rows[-1].endswith("only: gpt runn")) == ("1 job   r 1 running", True)
    assert "no matching job" in shown(world, State(words="nothing"))[0]


def test_a_closed_group_has_one_row() -> None:
    swept = tuple(line(f"lr-{k}", state, group="lr") for k, state in enumerate(("FAILED", "RUNNING", "WAITING")))  # type: ignore[arg-type]
    world = World(polled=True, jobs=(*swept, line("bert", "RUNNING"), line("alone", "WAITING", group="other")))
    rows = shown(world, State(), 160)
    assert rows[0] == "5 jobs   X 1 failed   r 2 running   . 2 waiting"
    group, *others = (" ".join(row.split()) for row in rows[2:5])
    assert group == "> X group lr FAILED - - ███░░░░░░░ 1/3 1h - 1 failed, 1 running, 1 waiting"
    assert [row.split()[:3] for row in others] == [["r", "bert", "RUNNING"], [".", "alone", "WAITING"]]
    rows = shown(world, State(group="lr"))
    assert (rows[0][:6], rows[-1][-11:]) == ("3 jobs", "  group: lr")
    assert [row.split()[1 + (row[0] == ">")] for row in rows[2:5]] == ["lr-0", "lr-1", "lr-2"]
    assert "group" not in "".join(shown(World(polled=True, jobs=swept), State())), "there is nothing else"


@pytest.mark.parametrize("width", [80, 160])
def test_a_failed_job_shows_its_reason_instead_of_a_bar(width: int) -> None:
    why = "task worker-3 failed with status 1: 1 failed task of role worker ends the job"
    jobs = (line("bert", "FAILED", reason=why, completed=10), line("gpt", "SUCCEEDED", completed=10))
    failed, succeeded = shown(World(polled=True, jobs=jobs), State(), width)[2:4]
    assert failed.split()[3:7] == ["FAILED", "255", "1234", "task"]
    assert why in failed or width == 80
    assert ("█" in failed, "██████████" in succeeded) == (False, True)


@pytest.mark.parametrize("width", [80, 160])
def test_a_stall_and_last_words_come_first(width: int) -> None:
    jobs = (line("bert", "FAILED", reason="task w-0 failed"), line("gpt", "RUNNING"))
    stall = Note("stalled: no task has moved for 1 min", is_stall=True)
    notes = {jobs[0].name: Note("KeyError: 3"), jobs[1].name: stall}
    failed, stalled = shown(World(polled=True, jobs=jobs, notes=notes), State(), width)[2:4]
    assert failed.split("1234")[1].split() == ["KeyError:", "3;", "task", "w-0", "failed"]
    assert stalled.split()[2] == "STALLED"
    assert "stalled: no task has moved" in stalled


def test_a_wide_window_shows_run_time_and_time_limit() -> None:
    jobs = (
        line("bert", "RUNNING", started_at=NOW - 754, time_limit=3600),
        line("gpt", "RUNNING", started_at=NOW - 61),
        line("old", "WAITING", started_at=NOW - 61, time_limit=86400),
    )
    world = World(polled=True, jobs=jobs)
    times = [row[row.index("1h") :].split()[1] for row in shown(world, State(), 160)[2:5]]
    assert times == ["00:12:34/01:00:00", "00:01:01", "-/1-00:00:00"]
    assert shown(world, State(), 80)[1].split()[-1] == "AGE"
    opened = training()
    opened = replace(opened, job=replace(opened.job, started_at=jobs[0].started_at, time_limit=3600))
    assert shown(opened, State(page="job", job=JOB))[0].endswith("submitted 1h ago  ran 00:12:34 of 01:00:00")


def test_usage_of_roles_is_shown_above_their_tasks() -> None:
    used = Usage(
        role="worker", running_tasks=55, requested_cpus=4, requested_memory_mib=4096, cpus_busy=3.4,
        used_memory_mib=2048, max_memory_mib=3072, gpu_percent=71, gpu_memory_mib=512,
    )  # fmt: skip
    ps = replace(used, role="ps", cpus_busy=None, gpu_percent=None, gpu_memory_mib=None)
    world = replace(training(), usages=(JOB, (used, ps)))
    said = " ".join(shown(world, State(page="job", job=JOB))[4:6])
    assert said == (
        "average usage of a task: worker 3.40 CPUs, 2.0 GiB of memory (at most 3.0 GiB), 71 % of "
        "its GPUs, 512 MiB of GPU memory; ps 2.0 GiB of memory (at most 3.0 GiB)"
    )
    rows = shown(replace(world, usages=("another", (used,))), State(page="job", job=JOB))
    assert not any("average usage" in row for row in rows)


def test_every_task_has_a_mark() -> None:
    rows = shown(training(), State(page="job", job=JOB))
    assert rows[0] == "train  RUNNING  job 1234  submitted 1h ago"
    assert "10 of 66 tasks completed, 2 failed" in rows[2]
    assert rows[3:8] == [
        "X 2 failed   r 55 running   . 1 waiting   + 8 succeeded",
        "worker-0   rrrrr+rrrr Xrr+rrrrrr r+rrrrrrr+ rrrXrrr+rr rrrrr+rrrr rrr+rrrrrr",
        "worker-60  r+rr",
        "ps-0       r.",
        "X failed: worker-33 (code 255 on node5), worker-10",
    ]
    assert rows[8].startswith("── worker-33 X FAILED, stderr ──")
    assert rows[-2] == "RuntimeError: CUDA out of memory"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (160, 50), (40, 10), (200, 60), (20, 4)])
def test_five_hundred_tasks_leave_room_for_the_log(width: int, height: int) -> None:
    rows = shown(training(500), State(page="job", job=JOB), width, height)
    assert rows[-1]
    if height >= 24:
        assert any("CUDA out of memory" in row for row in rows)
        marks = sum(
            sum(c in "rX+." for c in row.split("  ", 1)[1]) for row in rows if row.startswith(("worker-", "ps-"))
        )
        assert marks + sum(int(row.split()[1]) for row in rows if row.startswith("and ")) == 502


def test_a_long_name_does_not_hide_the_state() -> None:
    name = "grid-" * 12
    rows = shown(
        World(polled=True, job=view([task(0, "RUNNING")], name)), State(page="job", job=f"{user_name()}~{name}")
    )
    assert rows[:2] == [name, "RUNNING  job 1234  submitted 1h ago"]


def test_a_running_attempt_shows_how_the_previous_one_ended() -> None:
    retry = AttemptView(
        attempt=0, exit_code=255, behaviour="unknown", reason="task worker-1 failed with status 3",
        retry_rule="retry 1 of 2", backend_state="FAILED", blamed_nodes=(), started_at=None, ended_at=None,
        retry_at=None,
    )  # fmt: skip
    again = view([task(0, "RUNNING")], reason=None, attempts=(retry,), attempt=1)
    rows = shown(World(polled=True, job=again), State(page="job", job=JOB))
    assert rows[:2] == [
        "train  RUNNING  job 1234  attempt 2  submitted 1h ago",
        "attempt 1 ended: task worker-1 failed with status 3; retry 1 of 2",
    ]
    rows = shown(World(polled=True, job=replace(again, attempts=(), attempt=0)), State(page="job", job=JOB))
    assert not any("ended" in row for row in rows)


def test_a_task_without_log_does_not_show_lines_of_another_task() -> None:
    assert not any("step" in row for row in shown(training(), State(page="job", job=JOB, task="worker-3")))


@pytest.mark.parametrize("width", [80, 160])
def test_help_is_not_cut(width: int) -> None:
    said = " ".join(" ".join(shown(World(polled=True), State(question="help"), width)).split())
    assert all(f"{keys} {what}" in said for keys, what in HELP)


def test_a_question_is_shown_at_the_bottom() -> None:
    world = World(polled=True, jobs=(line("gpt", "RUNNING"),), problem="Slurm does not respond")
    rows = shown(world, State(job=f"{user_name()}~gpt", question="cancel"))
    assert rows[-2:] == ["states may be old: Slurm does not respond", "cancel gpt? y: yes, any other key: no"]


@pytest.mark.parametrize("page", ["jobs", "job"])
def test_control_characters_are_escaped(page: str) -> None:
    bad = view([task(0, "FAILED", HOSTILE, node=HOSTILE)], HOSTILE)
    name = bad.name
    jobs = (line(HOSTILE, "FAILED", reason=HOSTILE, job_id=HOSTILE, advice=HOSTILE),)
    world = World(
        polled=True, jobs=jobs, job=bad, problem=HOSTILE,
        tail=Tail(job=name, task=f"{HOSTILE}-0", lines=shown_lines(HOSTILE.encode())),
    )  # fmt: skip
    for question in ("", "cancel", "words", "help"):
        rows = shown(world, State(page=page, job=name, words=HOSTILE[:0], question=question, message=HOSTILE))  # type: ignore[arg-type]
        assert all(row.isprintable() for row in rows)
    assert any("\\x1b[2J" in row for row in shown(world, State(page=page, job=name)))  # type: ignore[arg-type]


def test_without_unicode_all_is_ascii() -> None:
    world = World(polled=True, jobs=(line("größe", "RUNNING"),))
    for rows in (shown(world, State(), unicode=False), shown(training(), State(page="job", job=JOB), unicode=False)):
        assert all(row.isascii() for row in rows)
    assert any("gr\\xf6\\xdfe" in row for row in shown(world, State(), unicode=False))


def test_the_selected_task_is_visible_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system="standard")
    console.print(Text("\n").join(frame(Session(clock=lambda: NOW), training(), State(page="job", job=JOB), 80, 24)))
    assert [code in written.getvalue() for code in ("\x1b[1;7mX\x1b[0m", "\x1b[31m")] == [True, False]


@given(st.binary(max_size=300))
def test_control_characters_in_a_log_are_removed(data: bytes) -> None:
    assert all(text.isprintable() for text in shown_lines(data))


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"10%\r50%\r100%\r\nnext\r\n", ("100%", "next")), (b"a\tb\n\n", ("a       b", "")), (b"", ())],
)
def test_a_progress_bar_in_a_log_shows_its_last_state(data: bytes, lines: tuple[str, ...]) -> None:
    assert shown_lines(data) == lines

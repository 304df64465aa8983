"""What keys do: to what is looked at, and what they ask for."""

from __future__ import annotations

import pytest

from paislurm.translator.cli.screen.state import Request, Sight, State, press

from .sights import task

TASKS = tuple(task(k, "FAILED" if k in (3, 27) else "RUNNING") for k in range(30))
SIGHT = Sight(jobs=("a", "b", "c"), tasks=TASKS, per_row=10, height=5, ended=frozenset("c"))


def after(*keys: str, state: State | None = None, sight: Sight = SIGHT) -> tuple[State, list[Request]]:
    state, asked = state or State(), []
    for key in keys:
        state, request = press(state, key, sight)
        asked += [request] if request else []
    return state, asked


@pytest.mark.parametrize(
    ("keys", "job"),
    [(["down"], "b"), (["j", "j", "j", "j"], "c"), (["j", "k"], "a"), (["end", "up"], "b"), (["pagedown"], "c")],
)
def test_arrows_and_letters_select_jobs(keys: list[str], job: str) -> None:
    assert after(*keys) == (State(job=job), [])


def test_the_selection_stays_when_new_jobs_appear_above() -> None:
    state, _ = after("down")
    for jobs in (("new", "a", "b", "c"), ("a", "c")):
        assert after("down", state=state, sight=Sight(jobs=jobs))[0].job == "c"


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["right"], "worker-28"),
        (["up"], "worker-17"),
        (["up", "up", "up"], "worker-7"),
        (["n"], "worker-3"),
        (["n", "n"], "worker-27"),
        (["left"] * 40, "worker-0"),
    ],
)
def test_the_selection_starts_at_the_task_that_failed_last(keys: list[str], name: str) -> None:
    state, asked = after("enter", *keys)
    assert (state.page, state.task, asked) == ("job", name, [])


def test_escape_returns_to_the_list() -> None:
    assert [after("enter", *["escape"] * count)[0].page for count in (0, 1, 2)] == ["job", "jobs", "jobs"]


def test_the_page_of_a_single_job_has_no_way_to_a_list() -> None:
    single = Sight(jobs=(), tasks=TASKS)
    assert after("escape", "escape", state=State(page="job", job="a"), sight=single)[0].page == "job"


def test_a_group_can_be_opened_and_closed() -> None:
    rows = Sight(jobs=("group sweep", "b"))
    opened, _ = after("enter", sight=rows)
    assert (opened.page, opened.group, opened.job) == ("jobs", "sweep", "")
    members = Sight(jobs=("sweep-1", "sweep-2"), tasks=TASKS)
    assert after("enter", "escape", state=opened, sight=members)[0] == State(job="sweep-1", group="sweep")
    left = State(job="group sweep")
    assert after("escape", state=opened, sight=members)[0] == left
    assert after("escape", "escape", state=State(group="sweep", words="x"), sight=Sight(jobs=()))[0] == left
    assert after("c", "y", sight=rows)[1] == [Request("cancel", "group sweep")]


def test_a_shell_opens_only_for_running_tasks() -> None:
    state, asked = after("enter", "s")
    assert (state.message, asked) == ("no shell: worker-27 is FAILED", [])
    assert after("right", "s", state=state)[1] == [Request("shell", "a", "worker-28")]


@pytest.mark.parametrize(("answer", "asked"), [("y", [Request("cancel", "b")]), ("n", []), ("escape", []), ("q", [])])
def test_cancel_asks_for_confirmation(answer: str, asked: list[Request]) -> None:
    state, found = after("down", "c", answer)
    assert (state.question, found) == ("", asked)
    assert bool(state.message) is not bool(asked)


def test_finished_jobs_are_not_cancelled() -> None:
    state, asked = after("end", "c", "y")
    assert (state.question, asked, after("end", "c")[0].message) == ("", [], "it has already ended")


def test_the_filter_can_be_typed() -> None:
    state, asked = after("/", "q", "c", "backspace", "x", "enter")
    assert (state.words, state.question, asked) == ("qx", "", [])
    assert after("escape", state=state)[0].words == after("/", "z", "escape")[0].words == ""


def test_a_filter_without_matches_can_be_changed() -> None:
    nothing = Sight(jobs=())
    assert after("enter", "c", "/", state=State(words="zz"), sight=nothing) == (State(words="zz", question="words"), [])


def test_a_key_switches_to_stderr() -> None:
    state, _ = after("enter", "e")
    errors = Sight(jobs=SIGHT.jobs, tasks=TASKS, stream="stderr")
    assert [state.stream, after("e", state=state, sight=errors)[0].stream] == ["stderr", "stdout"]


@pytest.mark.parametrize("page", ["jobs", "job"])
@pytest.mark.parametrize(("key", "kind"), [("q", "quit"), ("ended", "ended"), ("stop", "stop"), ("redraw", "redraw")])
def test_quit_works_on_every_page(page: str, key: str, kind: str) -> None:
    (asked,) = after(key, state=State(page=page, job="a"))[1]  # type: ignore[arg-type]
    assert asked.kind == kind


def test_any_key_closes_the_help() -> None:
    assert after("?")[0].question == "help"
    assert after("?", "q") == (State(), [])

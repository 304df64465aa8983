"""What is looked at beside the screen: Slurm is asked no more often than by other commands, files when they change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.backends.base import JobId, Observation, RunFolder
from paislurm.backends.runner import Completed
from paislurm.translator.app.jobs import live as tails_module
from paislurm.translator.app.jobs.job_sites import JobSites
from paislurm.translator.app.jobs.live import Tails
from paislurm.translator.app.session import Session
from paislurm.translator.cli.screen import watcher as module
from paislurm.translator.cli.screen.state import Page, State
from paislurm.translator.cli.screen.watcher import Watcher
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.polling.shared_results import Ask, PollResult
from paislurm.translator.state.history import History
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import JobRole
from paislurm.translator.view.reasons import said
from tests.cluster.processes import wait_until

from ...monitor.jobs import FakeBackend, leave_result, observed, task
from ..running import ME
from . import sights

REPORTS = "start 0 0 0 0 n1 0 100\nstart 0 1 1 0 n1 0 100\nexit 0 1 1 0 3 255 unknown 120\n"


@pytest.fixture
def watching(
    slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[State], Watcher]]:
    """Return what watches, beside a job that runs; the clock of looks goes on by a tenth of a second each time."""
    write_reports(folder, REPORTS)
    slurm.observations[JobId("7")] = observed("RUNNING")
    monkeypatch.setattr(module, "TICK", 0.01)
    monkeypatch.setattr(module, "REST", 0.0)
    started: list[Watcher] = []

    def watch(state: State) -> Watcher:
        started.append(Watcher(Session(), (), state, lambda: None))
        started[-1].start()
        return started[-1]

    yield watch
    for each in started:
        each.close()


def write_reports(folder: JobFolder, text: str) -> None:
    folder.reports(0).mkdir(exist_ok=True)
    (folder.reports(0) / "n1.log").write_text(text, encoding="utf-8")


def test_the_watcher_polls_all_jobs_and_then_the_open_one(
    watching: Callable[[State], Watcher], folder: JobFolder
) -> None:
    (folder.attempt(0) / "logs" / "0-worker").mkdir(parents=True)
    (folder.attempt(0) / "logs" / "0-worker" / "1.stderr.log").write_text("no such file\n", encoding="utf-8")
    watcher = watching(State())
    wait_until(lambda: watcher.world.polled, "jobs to be looked at")
    assert [(line.name, line.state) for line in watcher.world.jobs] == [(ME, "RUNNING")]
    watcher.aim(State(page="job", job=ME))
    wait_until(lambda: watcher.world.tail.lines, "a log to be read")
    view, tail, progress = watcher.world.job, watcher.world.tail, watcher.world.progress
    assert view is not None
    assert [task.state for task in view.tasks] == ["RUNNING", "FAILED"]
    assert progress is not None
    assert progress.words == "1 of 2 tasks completed, 1 failed"
    assert (tail.task, tail.stream, tail.lines) == ("worker-1", "stderr", ("no such file",))


def test_the_list_shows_the_same_state_as_the_page_of_a_job(
    watching: Callable[[State], Watcher], slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = watching(State())
    wait_until(lambda: watcher.world.polled, "jobs to be looked at")
    assert [line.state for line in watcher.world.jobs] == ["RUNNING"]
    watcher.aim(State(page="job", job=ME))
    wait_until(lambda: watcher.world.job, "the job to be looked at")
    leave_result(folder, outcome="failed", exit_code=255, reason="too bad", tasks=[task(0), task(1, state="FAILED")])
    slurm.observations[JobId("7")] = observed("FAILED", final=True)
    wait_until(lambda: watcher.world.job and watcher.world.job.ended, "the end to be seen")
    never_again = threading.Event()
    monkeypatch.setattr(watcher._jobs, "poll", lambda _: never_again.wait(60) and None)
    watcher.aim(State(job=ME))
    assert [(line.state, line.reason) for line in watcher.world.jobs] == [("FAILED", "too bad")]
    assert watcher.world.job is None, "nor does the page come back as it was"
    never_again.set()


def test_a_page_is_refreshed_when_it_is_reopened(watching: Callable[[State], Watcher]) -> None:
    watcher = watching(State(page="job", job=ME))
    for _ in range(2):
        wait_until(lambda: watcher.world.job, "the job to be looked at")
        watcher.aim(State(job=ME))
        wait_until(lambda: watcher.world.jobs, "jobs to be looked at")
        watcher.aim(State(page="job", job=ME))
    wait_until(lambda: watcher.world.job, "the job to be looked at again")


def test_a_task_report_is_shown_at_once_without_other_reads(
    watching: Callable[[State], Watcher], slurm: FakeBackend, folder: JobFolder
) -> None:
    watcher = watching(State(page="job", job=ME))
    wait_until(lambda: watcher.world.job, "the job to be looked at")
    looks = slurm.queries
    write_reports(folder, REPORTS + "exit 0 0 0 0 0 0 success 130\n")
    wait_until(lambda: watcher.world.progress and watcher.world.progress.done == 2, "the end of a task to be seen")
    assert slurm.queries <= looks + 2


@pytest.mark.parametrize(
    ("state", "later", "asked"), [("PENDING", 20, True), ("PENDING", 400, False), ("RUNNING", 20, False)]
)
@pytest.mark.parametrize("page", ["jobs", "job"])
def test_the_reason_for_waiting_is_refreshed_on_the_page_of_a_job(
    slurm: FakeBackend,
    folder: JobFolder,
    monkeypatch: pytest.MonkeyPatch,
    page: Page,
    state: str,
    later: int,
    asked: bool,
) -> None:
    """Of a job that waits Slurm is asked every 15 s for five minutes after a key, else as seldom as by who waits."""
    now, ages = [100.0], list[float]()

    def poll_at_most_every(_: Session, max_age: float, *__: object) -> Ask:
        ages.append(max_age)
        return lambda *_: PollResult(time=now[0], asked=frozenset({JobId("7")}), observations=dict(slurm.observations))

    monkeypatch.setattr("paislurm.translator.app.jobs.refresh.poll_at_most_every", poll_at_most_every)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    slurm.observations[JobId("7")] = observed(state, reason="Priority")
    if state == "RUNNING":
        write_reports(folder, REPORTS)
    watcher = Watcher(Session(), (), State(page=page, job=folder.name), lambda: None)
    for _ in range(2):
        watcher.poll_once()
        now[0] += later
    watcher.poll_once()
    assert ages == [15.0, *([15.0 if asked else JobSites(Session()).interval()] * 2)]


def test_usage_is_queried_no_more_often_than_slurm_samples_it(
    slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_reports(folder, REPORTS)
    slurm.observations[JobId("7")] = observed("RUNNING")
    calls: list[Sequence[str]] = []

    class Sstat:
        def run(self, argv: Sequence[str], **_: object) -> Completed:
            calls.append(argv)
            return Completed(status=0, stdout="7.0|2|00:00:50|1024M|2048M|gres/gpuutil=71\n", stderr="")

    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Sstat())
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    watcher = Watcher(Session(), (), State(page="job", job=ME), lambda: None)
    for seconds in (0, 20, 70):
        now[0] = 100.0 + seconds
        job, usages = watcher.poll_once().usages
        assert (job, [(usage.role, usage.gpu_percent) for usage in usages]) == (ME, [("worker", 71)])
    assert [argv[0] for argv in calls] == ["sstat", "sstat"]


def test_errors_are_shown_and_do_not_end_the_watcher(watching: Callable[[State], Watcher], slurm: FakeBackend) -> None:
    slurm.fails = "away"
    watcher = watching(State())
    wait_until(lambda: "does not respond" in watcher.world.problem, "the outage to be seen")
    watcher.aim(State(page="job", job="no-such-job"))
    wait_until(lambda: "no-such-job" in watcher.world.problem, "the missing job to be told")
    assert watcher.error is None


def test_an_internal_error_reaches_the_screen_thread(
    watching: Callable[[State], Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paislurm.translator.app.jobs.live.lines", Mock(side_effect=ZeroDivisionError))
    watcher = watching(State())
    wait_until(lambda: isinstance(watcher.error, ZeroDivisionError), "the error to be seen")


def test_logs_are_read_during_a_slurm_query(
    watching: Callable[[State], Watcher], slurm: FakeBackend, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = watching(State(page="job", job=ME))
    wait_until(lambda: watcher.world.tail.task, "a log to be looked for")
    asked, answer = threading.Event(), threading.Event()

    def observe(_: Collection[JobId]) -> Mapping[JobId, Observation]:
        asked.set()
        assert answer.wait(60)
        return {}

    monkeypatch.setattr(slurm, "observe", observe)
    write_reports(folder, REPORTS + "\n")
    assert asked.wait(60)
    watcher.aim(State(page="job", job=ME, task="worker-0"))
    wait_until(lambda: watcher.world.tail.task == "worker-0", "another log to be looked for")
    watcher.run(lambda: "done")
    wait_until(lambda: watcher.messages == ["done"], "the work to be done")
    answer.set()


def test_a_log_is_fetched_when_its_task_is_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is on the way, nobody says that nothing is printed."""
    folder = JobFolder(path=tmp_path / "train")
    known = History(job="train", user=ME, roles=(JobRole(name="worker", folder="0-worker", instances=2),))
    status = JobStatus.so_far("RUNNING", said(""))
    both = (sights.task(0, "RUNNING"), sights.task(1, "RUNNING"))
    shown = View(folder=folder, history=known, job_status=status, tasks=both)
    brought: list[tuple[tuple[str, int], ...]] = []

    def fetch(_: Session, __: History, wanted: RunFolder) -> None:
        brought.append(wanted.tasks)
        (_, index) = wanted.tasks[0]
        log = folder.log(0, shown.history.roles[0], index, 0, "stdout")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"epoch of {index}\n", encoding="utf-8")

    monkeypatch.setattr(tails_module, "fetch", fetch)
    tails = Tails(Session())
    lines = [tails.read(shown, name, "").lines for name in ("worker-0", "worker-0", "worker-1")]
    assert lines == [("epoch of 0",), ("epoch of 0",), ("epoch of 1",)]
    assert brought == [(("logs/0-worker", 0),), (("logs/0-worker", 1),)]

"""The loop looks at files each second, asks seldom whatever happens, and ends when nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import Accepted, JobId, Observation, Submission
from paislurm.translator.app.jobs import cancelling
from paislurm.translator.app.session import Session
from paislurm.translator.monitor.job_site import JobSite
from paislurm.translator.monitor.loop import DEPENDENCY_CHECK_SECONDS, Monitor
from paislurm.translator.monitor.notify import NotificationSender
from paislurm.translator.monitor.polling.shared_results import PollResult
from paislurm.translator.state.history import History
from paislurm.translator.state.job_folder import Store
from paislurm.translator.state.journal import append, read
from paislurm.translator.state.journal_records import Ended, Retry, RetryPolicy

from .jobs import (
    CREATED,
    ENDED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    claim,
    dependencies,
    ended,
    job_folder,
    leave_result,
    observed,
    stepped,
    waiting_job,
)


class Clock:
    """Time that passes when somebody sleeps; at chosen times something happens."""

    def __init__(self, **happens: Callable[[], Any]) -> None:
        self.seconds = 0.0
        self._happens = {int(when[1:]): act for when, act in happens.items()}

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        for when in sorted(self._happens):
            if self.seconds >= when:
                self._happens.pop(when)()

    def now(self) -> int:
        return NOW + int(self.seconds)


class Timed(FakeBackend):
    """A backend that notes when it is polled, and when it gets a job."""

    def __init__(self, clock: Clock, *observations: Observation, begins: Callable[[], object] = lambda: None) -> None:
        super().__init__(*observations)
        self.clock, self.asked, self.submitted = clock, list[float](), list[float]()
        self._begins = begins

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        self.asked.append(self.clock.seconds)
        return super().observe(ids)

    def submit(self, submission: Submission) -> Accepted:
        self.submitted.append(self.clock.seconds)
        accepted = super().submit(submission)
        self._begins()
        return accepted

    @property
    def pauses(self) -> list[float]:
        """The seconds between two polls."""
        return [later - before for before, later in pairwise(self.asked)]


def submit_another(path: Path, backend: FakeBackend) -> None:
    """Add a second job, which waits in the queue."""
    records = (replace(CREATED, job="b"), INTENT, replace(SUBMITTED, job_id="8", job="b"))
    job_folder(path / "jobs", *records, name="alice~b")
    backend.observations[JobId("8")] = observed("PENDING", job_id="8")


def cancel_it(backend: FakeBackend) -> None:
    """Cancel the second job."""
    backend.observations[JobId("8")] = observed("CANCELLED", final=True, job_id="8")


def polled(seconds: int, problem: str = "") -> JobSite:
    """Return the site of a job for which Slurm is polled so often."""
    return JobSite(poll_interval=seconds, problem=problem)


def monitor(
    path: Path,
    backend: FakeBackend,
    clock: Clock,
    said: list[str],
    *,
    interval: int = 180,
    room_at: int = 0,
    new_shared_result: Callable[[str], PollResult | None] = lambda _: None,
    site_of: Callable[[History], JobSite] | None = None,
) -> Monitor:
    means = dependencies(
        backend,
        clock.now,
        room_at=lambda _: room_at,
        new_shared_result=new_shared_result,
        site_of=site_of or (lambda _: polled(interval)),
    )
    return Monitor(Store(path), means, NotificationSender(), said.append)


def tables(watching: Monitor) -> list[list[str]]:
    """Return the names of the jobs that a monitor keeps something of."""
    return [sorted(table) for table in (watching._opened, watching._finished, watching._logged)]


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend(observed("RUNNING"))


def test_the_monitor_polls_at_its_interval_and_ends_with_the_last_job(tmp_path: Path) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    clock = Clock(t600=lambda: slurm.observations.update({JobId("7"): observed("CANCELLED", final=True)}))
    slurm = Timed(clock, observed("RUNNING"))
    said: list[str] = []
    assert monitor(tmp_path, slurm, clock, said, interval=60).run(sleep=clock.sleep) is False
    pauses = slurm.pauses
    assert all(61 <= pause <= 68 for pause in pauses), pauses
    assert len(set(pauses)) > 1, "there is no jitter"
    assert 600 <= clock.seconds <= 668
    assert [line.partition(":")[2].split()[0] for line in said] == ["RUNNING", "STOPPED"]


def test_reading_files_needs_no_poll(tmp_path: Path, backend: FakeBackend) -> None:
    """Whatever happens in the folders of a hundred jobs, there is one question in each interval."""
    clock, happens = Clock(), []
    for number in range(100):
        records = (CREATED, INTENT, replace(SUBMITTED, job_id=str(1000 + number)))
        folder = job_folder(tmp_path / "jobs", *records, name=f"alice~{number}")
        backend.observations[JobId(str(1000 + number))] = observed("RUNNING", job_id=str(1000 + number))
        happens.append((3 * number + 5, folder))
    ends = {f"t{when}": partial(leave_result, folder) for when, folder in happens}
    clock = Clock(**ends)
    said: list[str] = []
    monitor(tmp_path, backend, clock, said, interval=300).run(sleep=clock.sleep)
    assert backend.queries == 1
    assert sum("SUCCEEDED" in line for line in said) == 100
    assert clock.seconds <= 310


def test_a_monitor_keeps_nothing_of_jobs_that_were_removed(tmp_path: Path, backend: FakeBackend) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED, name="alice~stays")
    gone = job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, job_id="8"), name="alice~gone")
    backend.observations[JobId("8")] = observed("RUNNING", job_id="8")
    clock = Clock(t20=lambda: leave_result(gone), t300=lambda: rmtree(gone.path))
    watching = monitor(tmp_path, backend, clock, [], interval=100)
    watching.run(sleep=clock.sleep, spent=lambda: clock.seconds > 200)
    assert tables(watching) == [["alice~stays"], ["alice~gone"], ["alice~gone", "alice~stays"]]
    watching.run(sleep=clock.sleep, spent=lambda: clock.seconds > 500)
    assert tables(watching) == [["alice~stays"], [], ["alice~stays"]]


def test_an_end_without_a_result_is_accepted_after_a_while_with_one_poll(tmp_path: Path) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    slurm, clock = FakeBackend(observed("FAILED", final=True, status=1, ended=NOW)), Clock()
    monitor(tmp_path, slurm, clock, [], interval=300).run(sleep=clock.sleep)
    assert slurm.queries == 1
    assert 10 <= clock.seconds <= 14


def test_the_reason_for_an_interruption_is_polled_soon(tmp_path: Path, backend: FakeBackend) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    reported = partial(leave_result, folder, outcome="interrupted", exitCode=-101)
    slurm_knows = partial(ended, backend, state="PREEMPTED", ended=NOW)
    clock, said = Clock(t100=reported, t110=slurm_knows), []
    monitor(tmp_path, backend, clock, said, interval=300).run(sleep=clock.sleep)
    assert 110 <= clock.seconds <= 123
    assert backend.queries == 4
    assert "PREEMPTED" in said[-1] or "preempted" in said[-1]


def test_the_end_of_a_job_cancelled_before_its_start_is_polled_soon(
    tmp_path: Path, backend: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cancel` leaves a sign where the monitor looks."""
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    backend.observations[JobId("7")] = observed("PENDING")
    session = Session()
    monkeypatch.setattr(Session, "backend", lambda *_: backend)
    monkeypatch.setattr(cancelling, "check_own", lambda *_: None)
    monkeypatch.setattr(
        cancelling, "refresh_all", lambda _, jobs, **__: [stepped(job.folder, backend, NOW) for job in jobs]
    )

    def cancel() -> None:
        cancelling.cancel_jobs(session, [folder])
        ended(backend, state="CANCELLED", ended=NOW + 100)

    clock, said = Clock(t100=cancel), []
    monitor(tmp_path, backend, clock, said, interval=300).run(sleep=clock.sleep)
    assert 100 <= clock.seconds <= 121
    assert " STOPPED " in said[-1]


def test_a_poll_result_of_another_process_is_used_at_once(tmp_path: Path) -> None:
    """Root cancels two jobs that wait, `status` asks for all, and `wait` reads of it in the journal."""
    for number in ("7", "8", "9"):
        job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, job_id=number), name=f"alice~{number}")
    waits = {JobId(number): observed("PENDING", job_id=number, reason="Resources") for number in ("7", "8", "9")}
    slurm, polled_at, said = FakeBackend(*waits.values()), list[PollResult](), dict[str, float]()
    cancelled = {JobId(number): observed("CANCELLED", final=True, job_id=number) for number in ("7", "8")}

    def look() -> None:
        slurm.observations |= cancelled
        polled_at.append(PollResult(time=NOW + 50, asked=frozenset(waits), observations={**waits, **cancelled}))

    class Log(list[str]):
        def append(self, text: str) -> None:
            said[" ".join(text.split()[:2])] = clock.seconds

    clock = Clock(t50=look, t200=lambda: ended(slurm, "9", "CANCELLED"))
    watching = monitor(
        tmp_path, slurm, clock, Log(), interval=150, new_shared_result=lambda _: polled_at.pop() if polled_at else None
    )
    watching.run(sleep=clock.sleep)
    ends = {line: when for line, when in said.items() if "STOPPED" in line}
    assert {line: 50 <= when <= 52 for line, when in ends.items()} == {
        "alice~7: STOPPED": True,
        "alice~8: STOPPED": True,
        "alice~9: STOPPED": False,
    }
    assert slurm.queries == 3


@pytest.mark.parametrize("queue", [observed("CANCELLED", ended=NOW), None], ids=["ended", "nothing"])
def test_a_job_gone_from_the_queue_is_soon_looked_up_in_accounting(tmp_path: Path, queue: Observation | None) -> None:
    """They come later than the end, and the folder has no sign: nobody is left to leave one."""
    claim(job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, happened_at=NOW)), "7", NOW - 1)
    slurm = FakeBackend(observed("PENDING"))

    def leave_queue() -> None:
        slurm.observations = {queue.job_id: queue} if queue else {}

    clock = Clock(t15=leave_queue, t48=lambda: ended(slurm, state="CANCELLED", ended=NOW + 15))
    monitor(tmp_path, slurm, clock, [], interval=40).run(sleep=clock.sleep)
    assert 48 <= clock.seconds <= 60


def test_a_newly_submitted_pending_job_is_polled_soon(tmp_path: Path) -> None:
    """A node that cannot begin it leaves no sign in its folder; of one that does a claim tells, and no question."""
    submitted_now = CREATED, INTENT, replace(SUBMITTED, happened_at=NOW)
    begins, _ = (job_folder(tmp_path / name / "jobs", *submitted_now) for name in ("begins", "fails"))
    slurm = FakeBackend(observed("PENDING"))
    clock = Clock(t3=lambda: claim(begins, "7", NOW + 3), t500=lambda: ended(slurm))
    monitor(tmp_path / "begins", slurm, clock, [], interval=300).run(sleep=clock.sleep)
    assert slurm.queries == 3

    slurm = FakeBackend(observed("PENDING"))
    clock = Clock(t4=lambda: ended(slurm, state="CANCELLED"))
    monitor(tmp_path / "fails", slurm, clock, [], interval=300).run(sleep=clock.sleep)
    assert 4 <= clock.seconds <= 8


def test_poll_intervals_grow_while_nothing_changes(tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    reported = partial(leave_result, folder, outcome="interrupted", exitCode=-101)
    clock = Clock(t100=reported, t900=lambda: ended(slurm, ended=NOW))
    slurm = Timed(clock, observed("RUNNING"))
    monitor(tmp_path, slurm, clock, [], interval=120).run(sleep=clock.sleep)
    bounds, pauses = [99, 6, 11, 21, 41, 81, 121, 121], slurm.pauses
    assert all(bound <= pause <= 1.1 * bound + 2 for bound, pause in zip(bounds, pauses[:8], strict=True)), pauses


def test_a_job_whose_number_is_another_jobs_is_polled_again_after_a_minute(tmp_path: Path) -> None:
    """Also if polls are rare, because another job's cause does not come."""
    cut = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED, name="alice~cut")
    leave_result(cut, outcome="interrupted", exitCode=-101)
    lost = job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, job_id="8"), name="alice~lost")
    claim(lost, "8", NOW - 1)
    other = observed("RUNNING", job_id="8", tag="paislurm-2")
    clock = Clock(t2000=lambda: slurm.observations.update({other.job_id: other}), t4000=lambda: ended(slurm))
    slurm = Timed(clock, observed("RUNNING"), observed("RUNNING", job_id="8"))
    monitor(tmp_path, slurm, clock, [], interval=300).run(sleep=clock.sleep)
    first = next(at for at in slurm.asked if at >= 2000)
    (end,) = (record for record in read(lost.journal).records if isinstance(record, Ended | Retry))
    assert (end.exit_code, 60 <= end.happened_at - NOW - first <= 70) == (-101, True), (end, slurm.asked)


def test_local_jobs_are_polled_often_while_there_are_no_others(tmp_path: Path) -> None:
    """Such a poll asks no Slurm, and no file tells that the processes of a job are gone."""
    job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, backend="local"))
    clock = Clock(t100=lambda: submit_another(tmp_path, slurm))
    slurm = Timed(clock, observed("RUNNING"))
    with suppress(RuntimeError):
        monitor(tmp_path, slurm, clock, [], interval=60).run(sleep=partial(until, clock, 800))
    pauses = [(before, later - before) for before, later in pairwise(sorted(set(slurm.asked)))]
    alone, both = ([pause for began, pause in pauses if first < began < last] for first, last in ((5, 90), (200, 700)))
    assert len(alone) > 8
    assert all(5 <= pause <= 8 for pause in alone), pauses
    assert len(both) > 5
    assert all(61 <= pause <= 68 for pause in both), pauses


def until(clock: Clock, last: float, seconds: float) -> None:
    """Sleep; raise RuntimeError at a time."""
    clock.sleep(seconds)
    if clock.seconds > last:
        raise RuntimeError


def test_the_shortest_interval_of_all_job_profiles_applies(tmp_path: Path) -> None:
    """A job whose profile wants it joins another one, and is cancelled; then the other one's profile counts again."""
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    clock = Clock(
        t1000=lambda: submit_another(tmp_path, slurm),
        t1400=lambda: cancel_it(slurm),
        t4000=lambda: ended(slurm, ended=NOW),
    )
    slurm = Timed(clock, observed("PENDING"))
    said: list[str] = []
    site_of = {"demo": polled(600), "b": polled(60, "its profile is gone")}
    monitor(tmp_path, slurm, clock, said, site_of=lambda known: site_of.get(known.job, polled(600))).run(
        sleep=clock.sleep
    )
    pauses = [(before, later - before) for before, later in pairwise(slurm.asked)]
    alone = [pause for began, pause in pauses if began < 600 or 1500 < began < 3300]
    both = [pause for began, pause in pauses if 1050 <= began < 1300]
    assert len(both) >= 3
    assert all(61 <= pause <= 68 for pause in both), pauses
    assert len(alone) >= 3
    assert all(601 <= pause <= 663 for pause in alone), pauses
    assert [line for line in said if "gone" in line] == ["alice~b: its profile is gone"]


def test_a_monitor_near_its_cpu_limit_hands_over_to_a_new_one(tmp_path: Path, backend: FakeBackend) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    clock = Clock()
    assert (
        monitor(tmp_path, backend, clock, [], interval=60).run(sleep=clock.sleep, spent=lambda: clock.seconds > 100)
        is True
    )
    assert clock.seconds <= 102


def test_a_result_and_a_new_job_are_seen_at_once(tmp_path: Path, backend: FakeBackend) -> None:
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    seen: dict[str, float] = {}
    clock = Clock(
        t300=lambda: submit_another(tmp_path, backend),
        t500=lambda: leave_result(folder),
        t700=lambda: cancel_it(backend),
    )

    class Log(list[str]):
        def append(self, text: str) -> None:
            seen.setdefault(text.split(maxsplit=1)[0] + text.split()[1], clock.seconds)

    monitor(tmp_path, backend, clock, Log(), interval=30).run(sleep=clock.sleep)
    assert 300 <= seen["alice~b:WAITING"] <= 304
    assert 500 <= seen["alice~demo:SUCCEEDED"] <= 504
    assert 700 <= seen["alice~b:STOPPED"] <= 740


def test_a_retry_is_submitted_on_time(tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "jobs", replace(CREATED, retry_policy=RetryPolicy()), INTENT, SUBMITTED)
    folder.script(0).write_text("")
    leave_result(folder, outcome="failed", exit_code=251, behaviour="conflict")
    clock = Clock()

    def succeed() -> None:
        leave_result(folder)
        folder.result(1).write_bytes(folder.result(0).read_bytes())

    slurm = Timed(clock, observed("FAILED", final=True), begins=succeed)
    monitor(tmp_path, slurm, clock, [], interval=3600).run(sleep=clock.sleep)
    due = folder.history().retries[0].retry_at - NOW
    assert 60 <= due <= 900
    assert due <= slurm.submitted[0] <= due + 3


def test_the_hourly_limit_is_reported_once_and_retries_follow_on_time(tmp_path: Path) -> None:
    folder = job_folder(tmp_path / "jobs", replace(CREATED, retry_policy=RetryPolicy(retry_limit=1)), INTENT, SUBMITTED)
    folder.script(0).write_text("")
    leave_result(folder, outcome="failed", exit_code=255, behaviour="unknown", reason="worker-0 failed")
    clock, said = Clock(), list[str]()
    slurm = Timed(clock, begins=lambda: folder.result(1).write_bytes(folder.result(0).read_bytes()))
    monitor(tmp_path, slurm, clock, said, room_at=NOW + 1000, interval=300).run(sleep=clock.sleep)
    assert 1000 <= slurm.submitted[0] <= 1003
    assert sum("limit on retries per hour" in line for line in said) == 1
    assert "FAILED attempt 2" in said[-1]


def test_an_unknown_job_does_not_keep_the_monitor_running(tmp_path: Path) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, replace(SUBMITTED, happened_at=NOW - 1000))
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED, ENDED, name="alice~old")
    watching = monitor(tmp_path, FakeBackend(), Clock(), [])
    assert watching.step() is False
    assert not watching.needs_monitor()


def test_an_outage_is_reported_once_and_survived(tmp_path: Path, backend: FakeBackend) -> None:
    job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    backend.fails = "away"

    def back() -> None:
        backend.fails = ""
        backend.observations[JobId("7")] = observed("CANCELLED", final=True)

    said: list[str] = []
    clock = Clock(t3600=back)
    monitor(tmp_path, backend, clock, said, interval=30).run(sleep=clock.sleep)
    assert [("timed out" in line, "STOPPED" in line) for line in said] == [(True, False), (False, True)]


def test_folders_that_are_not_jobs_are_skipped(tmp_path: Path, backend: FakeBackend) -> None:
    (tmp_path / "jobs" / "alice~nothing").mkdir(parents=True)
    job_folder(tmp_path / "jobs", name="alice~empty")
    assert monitor(tmp_path, backend, Clock(), []).step() is False
    assert monitor(tmp_path / "nowhere", backend, Clock(), []).step() is False


@pytest.mark.parametrize("others_monitor", [False, True])
def test_a_dependent_job_is_submitted_soon_after_the_end(tmp_path: Path, *, others_monitor: bool) -> None:
    """The end is in the files: the backend is not asked once more. It may be another process that writes it down."""
    first = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED, name="alice~first")
    waiting_job(tmp_path / "jobs")

    def end() -> None:
        if others_monitor:
            append(first.journal, replace(ENDED, state="SUCCEEDED", exit_code=0))
        else:
            leave_result(first)

    clock = Clock(t100=end)
    slurm = Timed(clock, observed("RUNNING"), begins=lambda: ended(slurm, "101", "CANCELLED"))
    monitor(tmp_path, slurm, clock, [], interval=300).run(sleep=clock.sleep)
    (taken,) = slurm.submitted
    assert [submission.tag for submission in slurm.submissions] == ["paislurm-second@far"]
    assert 100 <= taken <= 100 + (2 * DEPENDENCY_CHECK_SECONDS if others_monitor else 5)


def test_the_end_of_an_attempt_submits_dependent_jobs(tmp_path: Path, backend: FakeBackend) -> None:
    """Where no process stays on the login node, the script takes a step for its own job, and for those that wait."""
    first = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED, name="alice~first")
    waiting_job(tmp_path / "jobs", until="ended")
    leave_result(first, outcome="failed", exit_code=255, behaviour="unknown", reason="worker-0 failed")
    ended(backend)
    monitor(tmp_path, backend, Clock(), []).step(first)
    assert [submission.tag for submission in backend.submissions] == ["paislurm-second@far"]


def test_a_journal_that_was_read_without_the_lock_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network file system may show the attributes that a journal had before another monitor has ended the job."""
    folder = job_folder(tmp_path / "jobs", CREATED, INTENT, SUBMITTED)
    said: list[str] = []
    found = monitor(tmp_path, FakeBackend(observed("RUNNING")), Clock(), said)
    monkeypatch.setattr("paislurm.translator.monitor.loop._stamp", lambda _: (1, 1, 1))
    assert found.needs_monitor()
    folder.append(ENDED)
    assert not found.step()

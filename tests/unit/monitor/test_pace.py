"""Jobs of a paced group wait here for their places, whatever becomes of those that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.backends.slurm.refusal_table import LIMIT_REACHED
from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.job_site import JobSite
from paislurm.translator.monitor.loop import Monitor
from paislurm.translator.monitor.notify import NotificationSender
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.monitor.reconcile import REFUSED_SECONDS, reconcile
from paislurm.translator.state.job_folder import Store
from paislurm.translator.state.journal import append
from paislurm.translator.state.journal_records import Cancelled, Ended, Intent, Pace, RetryPolicy, Submitted

from .jobs import CREATED, ENDED, FAILED, NOW, FakeBackend, dependencies, ended, job_folder, leave_result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paislurm.backends.base import Accepted, Submission
    from paislurm.translator.monitor.facts import View
    from paislurm.translator.state.job_folder import JobFolder

TWO = Pace(most_at_once=2)


class Full(FakeBackend):
    """A backend that takes `room` jobs more."""

    room = 0

    def submit(self, submission: Submission) -> Accepted:
        if not self.room:
            raise RejectedError(Diagnostic(code=LIMIT_REACHED, message="QOSMaxSubmitJobPerUserLimit"), argv=("sbatch",))
        self.room -= 1
        return super().submit(submission)


def member(home: Path, number: int, *, pace: Pace = TWO, **created: object) -> JobFolder:
    """Make the folder of a job of the group that waits for its place."""
    tag = f"paislurm-m{number}"
    record = replace(CREATED, happened_at=NOW - 50, job=f"m{number}", group="g", pace=pace, first_tag=tag, **created)
    folder = job_folder(home / "jobs", record, name=f"alice~m{number}")
    folder.script(0).write_text("#!/bin/bash\n")
    return folder


def step(home: Path, backend: FakeBackend, now: int = NOW, only: Sequence[JobFolder] | None = None) -> list[View]:
    """Let the monitor take a step with all jobs of a store, or with some."""
    store = Store(home)
    folders = [folder for folder in store.all() if folder.history().ended is None] if only is None else only
    means = dependencies(backend, lambda: now, members=store.members)
    return reconcile([open_job(folder) for folder in folders], means)


def end(folder: JobFolder, backend: FakeBackend, **result: object) -> None:
    """Let the last attempt of a job end."""
    known = folder.history()
    leave_result(folder, **result)
    ended(backend, known.job_id, "COMPLETED")


def sent(backend: FakeBackend) -> list[str]:
    return [submission.job for submission in backend.submissions]


def test_jobs_are_submitted_as_others_end_and_each_once(tmp_path: Path) -> None:
    folders, backend = [member(tmp_path, number) for number in range(5)], FakeBackend()
    views = step(tmp_path, backend)
    assert sent(backend) == ["m0", "m1"]
    assert [view.job_status.reason for view in views[2:]] == ["at most 2 jobs of group g at Slurm at once"] * 3
    step(tmp_path, backend)
    end(folders[0], backend)
    step(tmp_path, backend)
    assert sent(backend) == ["m0", "m1", "m2"], "in the step that records the end"
    end(folders[1], backend, **FAILED)
    end(folders[2], backend)
    step(tmp_path, backend)
    assert sent(backend) == ["m0", "m1", "m2", "m3", "m4"]


def test_a_step_with_some_of_the_jobs_counts_the_others(tmp_path: Path) -> None:
    folders, backend = [member(tmp_path, number) for number in range(4)], FakeBackend()
    for folder in folders:
        step(tmp_path, backend, only=[folder])
    assert sent(backend) == ["m0", "m1"]


def test_a_retried_job_keeps_its_place(tmp_path: Path) -> None:
    folders = [member(tmp_path, number, retry_policy=RetryPolicy(retry_limit=1)) for number in range(3)]
    backend = FakeBackend()
    step(tmp_path, backend)
    end(folders[0], backend, **FAILED)
    step(tmp_path, backend)
    assert [(each.job, each.attempt) for each in backend.submissions] == [("m0", 0), ("m1", 0), ("m0", 1)]


@pytest.mark.parametrize("number", range(3))
def test_an_interrupted_submit_keeps_its_place_and_goes_first(tmp_path: Path, number: int) -> None:
    """As after kill -9 between an intent and sbatch: nobody else gets the place, whatever the order of the jobs."""
    folders, backend = [member(tmp_path, each, pace=Pace(most_at_once=1)) for each in range(3)], FakeBackend()
    append(folders[number].journal, Intent(happened_at=NOW, attempt=0, tag=f"paislurm-m{number}"))
    for now in (NOW, NOW + SETTLED_SECONDS + 1):
        step(tmp_path, backend, now)
    assert sent(backend) == [f"m{number}"]


def test_late_intents_beyond_the_pace_neither_exceed_it_nor_block_each_other(tmp_path: Path) -> None:
    """A process that stood still wrote them after another one had taken over."""
    folders, backend = [member(tmp_path, each, pace=Pace(most_at_once=1)) for each in range(3)], FakeBackend()
    for folder in folders:
        append(folder.journal, Intent(happened_at=NOW, attempt=0, tag=f"paislurm-{folder.name.partition('~')[2]}"))
    now = NOW + SETTLED_SECONDS + 1
    for folder in folders:
        step(tmp_path, backend, now)
        assert sent(backend)[-1] == folder.name.partition("~")[2]
        assert len(sent(backend)) == 1 + folders.index(folder)
        end(folder, backend)
        now += 1


def test_a_full_queue_is_waited_for_without_an_end(tmp_path: Path) -> None:
    folders, backend = [member(tmp_path, number, pace=Pace()) for number in range(4)], Full()
    backend.room, now = 2, NOW
    views = step(tmp_path, backend)
    assert [view.history.job_id for view in views] == ["101", "102", "", ""]
    assert views[2].job_status.reason == (
        "attempt 1 is not submitted yet: QOSMaxSubmitJobPerUserLimit; retrying until Slurm accepts it"
    )
    assert views[3].job_status.reason == (
        "waiting for attempt 1, which is held back until 1970-01-12 13:46:45: QOSMaxSubmitJobPerUserLimit"
    )
    while now < NOW + 2 * REFUSED_SECONDS:
        views = step(tmp_path, backend, now := now + 900)
        assert [view.job_status.state for view in views] == ["WAITING"] * 4
    backend.room = 1
    end(folders[0], backend)
    step(tmp_path, backend, now + 60)
    assert sent(backend) == ["m0", "m1", "m2"]


def test_a_retry_at_a_full_queue_is_tried_without_an_end(tmp_path: Path) -> None:
    folder, backend = member(tmp_path, 0, retry_policy=RetryPolicy(retry_limit=1)), Full()
    backend.room = 1
    step(tmp_path, backend)
    end(folder, backend, **FAILED)
    for now in range(NOW, NOW + 2 * REFUSED_SECONDS, 900):
        (view,) = step(tmp_path, backend, now)
        assert not view.job_status.ended


def failed(home: Path, name: str, happened_at: int = NOW, **end: object) -> None:
    """Make the folder of a job of the group that failed at a time."""
    created = replace(CREATED, job=name, group="g")
    records = (Intent(happened_at=NOW - 49, attempt=0, tag=name), _submitted(name))
    job_folder(home / "jobs", created, *records, replace(ENDED, happened_at=happened_at, **end), name=f"alice~{name}")


def _submitted(name: str) -> Submitted:
    return Submitted(
        happened_at=NOW - 49, attempt=0, job_id="7", job=name, user="alice", backend="slurm", task_count=2, group="g"
    )


def test_failures_of_one_cause_stop_the_group(tmp_path: Path) -> None:
    pace, backend = Pace(most_at_once=1, stop_after=2), FakeBackend()
    folders = [member(tmp_path, number, pace=pace) for number in range(3)]
    failed(tmp_path, "early", happened_at=NOW - 60)
    failed(tmp_path, "other", exit_code=-1200)
    failed(tmp_path, "third", state="STOPPED")
    step(tmp_path, backend)
    end(folders[0], backend, **FAILED)
    step(tmp_path, backend)
    assert sent(backend) == ["m0", "m1"], "before its submit, by another cause or without a failure none counts"
    end(folders[1], backend, **FAILED)
    step(tmp_path, backend)
    assert sent(backend) == ["m0", "m1"]
    last = folders[2].history().ended
    assert last is not None
    assert (last.state, last.exit_code) == ("STOPPED", -210)
    assert last.reason == "never submitted: 2 jobs of group g failed with code 255, one as: worker-0 failed"


def test_a_job_that_slurm_has_refused_stops_with_its_group(tmp_path: Path) -> None:
    folder, backend = member(tmp_path, 0, pace=Pace(most_at_once=1, stop_after=1)), Full()
    step(tmp_path, backend)
    assert folder.history().refused is not None
    failed(tmp_path, "other")
    step(tmp_path, backend, NOW + 9)
    assert isinstance(folder.history().ended, Ended)


def test_a_cancelled_job_that_waits_is_not_submitted_and_takes_no_place(tmp_path: Path) -> None:
    folders, backend = [member(tmp_path, number, pace=Pace(most_at_once=1)) for number in range(2)], FakeBackend()
    append(folders[0].journal, Cancelled(happened_at=NOW, attempt=0, user="alice"))
    step(tmp_path, backend)
    assert sent(backend) == ["m1"]
    assert folders[0].history().ended is not None


def test_the_loop_submits_the_next_job_soon_after_an_end_without_a_poll(tmp_path: Path) -> None:
    folders, backend = [member(tmp_path, number, pace=Pace(most_at_once=1)) for number in range(3)], FakeBackend()
    seconds = 0.0

    def sleep(pause: float) -> None:
        nonlocal seconds
        seconds += pause
        assert seconds < 3000, sent(backend)
        for folder in folders:
            known = folder.history()
            if known.job_id and known.ended is None and not folder.result(0).exists():
                leave_result(folder)

    store = Store(tmp_path)
    means = dependencies(
        backend, lambda: NOW + int(seconds), members=store.members, site_of=lambda _: JobSite(poll_interval=600)
    )
    Monitor(store, means, NotificationSender(lambda _: JobSite()), lambda _: None).run(sleep=sleep)
    assert sent(backend) == ["m0", "m1", "m2"]
    assert (seconds < 60, backend.queries) == (True, 0)


def test_a_job_whose_submit_was_interrupted_before_its_secrets_is_never_submitted(tmp_path: Path) -> None:
    """The script is written last."""
    folder, backend = member(tmp_path, 0), FakeBackend()
    folder.script(0).unlink()
    (view,) = step(tmp_path, backend)
    assert not view.job_status.ended
    (view,) = step(tmp_path, backend, NOW - 50 + SETTLED_SECONDS + 1)
    assert view.job_status.reason == "attempt 1 cannot be submitted: its submit was interrupted"
    assert (view.job_status.ended, backend.submissions) == (True, [])

"""Attempts that the monitor submits and the backend refuses: how the job stands then, and when it is tried again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from paislurm.backends.base import Accepted, JobId, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError
from paislurm.translator.monitor.attempt import SETTLED_SECONDS
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_site import JobSite
from paislurm.translator.monitor.loop import Monitor
from paislurm.translator.monitor.notify import NotificationSender
from paislurm.translator.monitor.poll import open_job, poll_jobs
from paislurm.translator.monitor.reconcile import REFUSED_SECONDS, Dependencies, reconcile
from paislurm.translator.state.job_folder import JobFolder, Store
from paislurm.translator.state.journal_records import Cancelled, Changed, Record, Refused
from paislurm.translator.times import format_time

from .jobs import (
    CREATED,
    ENDED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    dependencies,
    failed_job,
    job_folder,
    kinds,
    observed,
    stepped,
    waiting_job,
)

NICE = "sbatch: error: Batch job submission failed: Invalid --nice value\n"
LIMIT = NICE.replace("Invalid --nice value", "Job violates accounting/QOS policy")
AWAY = NICE.replace("Invalid --nice value", "Unable to contact slurm controller (connect failure)")
WORDS = "sbatch refuses --account: no more jobs"


class Refusing(FakeBackend):
    """A backend that takes no job as long as it `says` why."""

    def __init__(self, says: str) -> None:
        super().__init__()
        self.says = says
        self.tries = 0

    def submit(self, submission: Submission) -> Accepted:
        """Refuse the script, or take it."""
        self.tries += 1
        if self.says:
            read = failure(["sbatch"], Completed(status=1, stdout="", stderr=self.says))
            if isinstance(read, UnreachableError):
                raise read
            raise RejectedError(Diagnostic(code="E503", message=WORDS), argv=("sbatch",), lasting=read.lasting)
        return super().submit(submission)


def after_another(path: Path, *records: Record) -> JobFolder:
    """Make the folder of a job that is submitted when another one has ended, which has unless the records say else."""
    job_folder(path, *(records or (CREATED, INTENT, SUBMITTED, ENDED)), name="alice~first")
    return waiting_job(path, name="next", until="ended", script="#!/bin/bash\n#SBATCH --time=01:00:00\n")


def refused_retry(path: Path, says: str) -> tuple[JobFolder, Refusing]:
    """Make the folder of a job whose first attempt has failed, and a backend that refuses the next one."""
    folder, failing = failed_job(path)
    backend = Refusing(says)
    backend.observations = failing.observations
    return folder, backend


def seen(folder: JobFolder, backend: FakeBackend, now: int = NOW) -> View:
    """Look at a job as `status` does, which submits nothing."""
    (view,) = poll_jobs([open_job(folder)], lambda _: backend, now)
    return view


def change(now: int = NOW, **values: str) -> Changed:
    return Changed(happened_at=now, attempt=0, user="alice", values=values, old_values={})


def test_an_invalid_first_attempt_ends_the_job_as_submit_does(tmp_path: Path) -> None:
    folder, backend = after_another(tmp_path), Refusing(NICE)
    view = stepped(folder, backend, NOW)
    assert (view.job_status.state, view.job_status.code, view.job_status.ended) == ("FAILED", -200, True)
    assert view.job_status.reason == f"attempt 1 cannot be submitted: {WORDS}"
    assert seen(folder, backend).job_status == view.job_status
    assert backend.forgotten == ["paislurm-next@far"]
    stepped(folder, backend, NOW + 9000)
    assert backend.tries == 1


def test_an_invalid_retry_ends_the_job(tmp_path: Path) -> None:
    folder, backend = refused_retry(tmp_path, "sbatch: unrecognized option '--nonsense'\n")
    view = stepped(folder, backend, NOW)
    assert (view.job_status.state, view.job_status.reason) == ("FAILED", f"attempt 2 cannot be submitted: {WORDS}")


def test_temporary_refusals_are_retried_and_reported(tmp_path: Path) -> None:
    folder, backend = after_another(tmp_path), Refusing(LIMIT)
    view = stepped(folder, backend, NOW)
    says = f"attempt 1 is not submitted yet: {WORDS}; retrying for an hour"
    for each in (view, seen(folder, backend)):
        assert (each.job_status.state, each.job_status.ended, each.job_status.reason) == ("WAITING", False, says)
    # What was refused was not taken: its tag is not looked up.
    assert backend.queries == 0
    for now, tries in ((NOW + SETTLED_SECONDS - 1, 1), (NOW + SETTLED_SECONDS, 2)):
        stepped(folder, backend, now)
        assert backend.tries == tries
    again = Refused(happened_at=NOW + SETTLED_SECONDS, attempt=0, reason=WORDS, retry_at=NOW + 2 * SETTLED_SECONDS)
    assert open_job(folder).history.refused == again
    backend.says = ""
    taken = stepped(folder, backend, NOW + 2 * SETTLED_SECONDS)
    assert (taken.history.job_id, taken.history.refused) == ("101", None)
    assert seen(folder, backend, NOW + 999).job_status.reason.startswith("Priority")


@pytest.mark.parametrize("begins", [NOW, NOW + 9000], ids=["at once", "after the site's limit on retries"])
def test_a_refused_retry_is_tried_for_an_hour(tmp_path: Path, begins: int) -> None:
    folder, backend = refused_retry(tmp_path, LIMIT)
    views = [stepped(folder, backend, NOW, room_at=begins), stepped(folder, backend, begins)]
    assert WORDS in [view.backend_error for view in views]
    for now in (*range(begins + 200, begins + 3599, 200), begins + 3599):
        assert not stepped(folder, backend, now).job_status.ended
    last = stepped(folder, backend, begins + 3800).job_status
    assert (last.state, last.code, WORDS in last.reason) == ("FAILED", -200, True)


def test_a_retry_is_submitted_soon_after_the_controller_returns(tmp_path: Path) -> None:
    """Nothing was sent, as `submit` says of the same words; so the tag is not looked up, and an outage has no end."""
    folder, backend = refused_retry(tmp_path, AWAY)
    tries, means = list[int](), dependencies(backend, lambda: now)
    for now in (*range(NOW, NOW + 200), *range(NOW + 200, NOW + 2 * REFUSED_SECONDS, 60)):
        before = backend.tries
        (view,) = reconcile([open_job(folder)], means)
        tries += [now - NOW] * (backend.tries - before)
        if now == NOW:
            asked = backend.queries
    pauses = [later - before for before, later in pairwise(tries)]
    assert pauses[:5] == [5, 10, 20, 40, 60]
    assert all(60 <= pause < 120 for pause in pauses[5:]), pauses
    assert view.job_status.reason == (
        "attempt 2 is not submitted yet: Slurm cannot be reached: Batch job submission failed: Unable to contact slurm "
        "controller (connect failure); retrying until Slurm accepts it"
    )
    assert (view.job_status.state, seen(folder, backend).job_status) == ("WAITING", view.job_status)
    # The hour in which a refusal may pass begins when Slurm answers.
    backend.says = LIMIT
    now += 60
    assert reconcile([open_job(folder)], means)[0].job_status.reason.endswith(f"{WORDS}; retrying for an hour")
    backend.says = ""
    now += SETTLED_SECONDS
    assert reconcile([open_job(folder)], means)[0].history.job_id == "101"
    assert (backend.submissions[0].attempt, backend.queries) == (1, asked)


def test_only_one_attempt_at_a_time_is_tried_during_an_outage(tmp_path: Path) -> None:
    """An sbatch that nobody answers takes ten seconds or more."""
    folders = [failed_job(tmp_path / str(number))[0] for number in range(5)]
    backend, now = Refusing(AWAY), NOW
    means = dependencies(backend, lambda: now)
    views = reconcile([open_job(folder) for folder in folders], means)
    now = NOW + 1
    views = reconcile([open_job(folder) for folder in folders], means)
    assert backend.tries == 1
    assert [view.history.attempt for view in views] == [1, 0, 0, 0, 0]
    for view in views[1:]:
        until = f"waiting for attempt 2, which is held back until {format_time(NOW + 5)}: "
        assert view.job_status.reason.startswith(f"{until}Slurm cannot be ")
        assert view.room_at == NOW + 5
    backend.says = ""
    now = NOW + 5
    views = reconcile([open_job(folder) for folder in folders], means)
    assert [view.history.job_id for view in views] == ["101", "102", "103", "104", "105"]


def test_a_rate_limit_increases_the_pause(tmp_path: Path) -> None:
    folder, backend = refused_retry(tmp_path, NICE.replace("Invalid --nice value", "RPC limit exceeded"))
    stepped(folder, backend, NOW)
    stepped(folder, backend, NOW + SETTLED_SECONDS - 1)
    assert backend.tries == 1


def test_a_changed_attempt_is_tried_at_once(tmp_path: Path) -> None:
    folder, backend = after_another(tmp_path), Refusing(LIMIT)
    stepped(folder, backend, NOW)
    backend.says = ""
    folder.append(change(NOW + 5, time="00:30:00", held="yes"))
    assert seen(folder, backend, NOW + 5).job_status.reason.endswith("; its user holds it when it is submitted")
    assert stepped(folder, backend, NOW + 6).history.job_id == "101"
    assert "--time=00:30:00" in folder.script(0).read_text(encoding="utf-8")
    assert backend.submissions[0].held


def test_a_changed_attempt_is_tried_once(tmp_path: Path) -> None:
    folder, backend = after_another(tmp_path), Refusing(LIMIT)
    stepped(folder, backend, NOW)
    folder.append(change(NOW + 5, time="00:30:00"))
    for second in range(6, 60):
        stepped(folder, backend, NOW + second)
    assert backend.tries == 2


def test_a_cancel_ends_a_refused_attempt_at_once(tmp_path: Path) -> None:
    folder, backend = after_another(tmp_path), Refusing(LIMIT)
    stepped(folder, backend, NOW)
    folder.append(Cancelled(happened_at=NOW + 1, attempt=0, user="alice"))
    view = stepped(folder, backend, NOW + 1)
    assert (view.job_status.state, view.job_status.code) == ("STOPPED", -210)
    assert view.job_status.reason == f"cancelled by alice before attempt 1 was submitted: {WORDS}"
    assert (kinds(folder), backend.tries) == (["Cancelled", "Ended"], 1)


def test_a_refusal_after_the_job_id_is_ignored(tmp_path: Path) -> None:
    refused = Refused(happened_at=NOW, attempt=0, reason=WORDS)
    folder = job_folder(tmp_path, CREATED, INTENT, SUBMITTED, refused)
    assert open_job(folder).history.refused is None


@pytest.mark.parametrize(("held", "words"), [("yes", "; its user holds it when it is submitted"), ("no", "")])
def test_a_hold_is_shown_before_submission(tmp_path: Path, held: str, words: str) -> None:
    folder = after_another(tmp_path, CREATED)
    folder.append(change(held=held))
    assert stepped(folder, FakeBackend(), NOW).job_status.reason == f"it starts when alice~first has ended{words}"


def test_a_hold_of_the_next_retry_is_shown(tmp_path: Path) -> None:
    folder, backend = failed_job(tmp_path)
    stepped(folder, backend, NOW, room_at=NOW + 500)
    folder.append(change(held="yes"))
    assert seen(folder, backend).job_status.reason.endswith("; its user holds it when it is submitted")


def test_the_monitor_retries_on_time_whatever_the_poll_interval(tmp_path: Path) -> None:
    """A change wakes it at once; else it tries after three minutes, where backends are asked every two hours."""
    tries: list[int] = []
    backend, seconds = Refusing(LIMIT), 0.0
    folder = after_another(tmp_path / "jobs")

    def submit(submission: Submission) -> Accepted:
        tries.append(int(seconds))
        return Refusing.submit(backend, submission)

    def sleep(pause: float) -> None:
        nonlocal seconds
        seconds += pause
        if seconds >= 400 and not folder.history().changes:
            folder.append(change(NOW + int(seconds), time="00:30:00"))
            backend.says = ""
            backend.observations[JobId("101")] = observed("COMPLETED", final=True, job_id="101")

    backend.submit = submit  # type: ignore[method-assign]
    means = Dependencies(
        backend=lambda _: backend,
        clock=lambda: NOW + int(seconds),
        holds_lock=lambda: True,
        owns=lambda _: True,
        site_of=lambda _: JobSite(poll_interval=7200),
    )
    said: list[str] = []
    Monitor(Store(tmp_path), means, NotificationSender(), said.append).run(sleep=sleep, spent=lambda: seconds > 1000)
    assert [second // 10 for second in tries] == [0, 18, 36, 40]
    assert any(WORDS in line for line in said)


def test_a_retry_without_the_environment_of_the_submit_ends_the_job(tmp_path: Path) -> None:
    """The job was given up, and the record of that failed; its secrets are gone too."""
    folder, backend = failed_job(tmp_path)
    folder.forget_secrets()
    status = stepped(folder, backend, NOW).job_status
    assert (status.state, status.code, backend.submissions) == ("FAILED", -200, [])
    assert status.reason == (
        "attempt 2 cannot be submitted: the environment and the secrets of its submit have been removed"
    )


def test_a_job_without_retries_needs_no_environment_when_it_gets_some(tmp_path: Path) -> None:
    """It was submitted without, so none was kept."""
    folder, backend = failed_job(tmp_path, retry_limit=0, max_transient_retries=0)
    folder.append(
        Changed(happened_at=1, attempt=0, user="alice", values={"retries": "1"}, old_values={"retries": "0"}, job_id="")
    )
    folder.forget_secrets()
    assert stepped(folder, backend, NOW).history.attempt == 1

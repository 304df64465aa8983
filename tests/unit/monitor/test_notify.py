"""Who wanted to be told is told once or more, whatever the program that tells does."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_site import OLDEST_SECONDS, JobSite, Notification, due_notifications
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.notify import NotificationSender, message
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.state.history import History, history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import append, read
from paislurm.translator.state.journal_records import Notified, Observed, Record, Retry
from paislurm.translator.view.reasons import said

from .jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, job_folder

ALL = ("running", "succeeded", "failed", "stopped", "retried")
RAN = Observed(happened_at=NOW, attempt=0, backend_state="RUNNING", backend_reason="")
SUCCEEDED = replace(ENDED, state="SUCCEEDED", exit_code=0)
RETRY = Retry(
    happened_at=NOW, attempt=0, exit_code=137, behaviour="transient", reason="killed", retry_rule="transient",
    retry_at=NOW, retries=1, used_retries=0, transient_retries=1, blamed_nodes=(), backend_state="",
    started_at=None, ended_at=None,
)  # fmt: skip
TOLD = Notified(happened_at=NOW, attempt=0, key=f"{INTENT.tag}/running", delivered=True)


@pytest.mark.parametrize(
    ("records", "events"),
    [
        ((), []),
        ((RAN,), ["running"]),
        ((RAN, TOLD), []),
        ((SUCCEEDED,), ["running", "succeeded"]),
        ((ENDED,), ["failed"]),
        ((replace(ENDED, state="STOPPED", exit_code=-210),), ["stopped"]),
        ((RAN, RETRY), ["running", "retried"]),
        ((RAN, RETRY, replace(RETRY, attempt=1, retries=2)), ["running", "retried"]),
        ((RAN, RETRY, replace(INTENT, attempt=1, tag=f"{INTENT.tag}.1")), ["running", "retried"]),
    ],
)
def test_each_event_causes_its_notifications(records: tuple[Record, ...], events: list[str]) -> None:
    known = history([replace(CREATED, notify=ALL), INTENT, SUBMITTED, *records])
    assert [notification.event for notification in due_notifications(known)] == events
    assert due_notifications(replace(known, notify=())) == ()


def test_each_retry_is_a_separate_event() -> None:
    begin = [replace(CREATED, notify=("retried",)), INTENT, SUBMITTED]
    first = due_notifications(history([*begin, RETRY]))[0]
    again = replace(INTENT, attempt=1, tag=f"{INTENT.tag}.1")
    later = due_notifications(history([*begin, RETRY, again, replace(RETRY, attempt=1, retries=2)]))[0]
    assert (first.key, first.retries) == (f"{INTENT.tag}/retried/1", 1)
    assert (later.key, later.retries) == (f"{INTENT.tag}/retried/2", 2)


def program(path: Path, body: str) -> Callable[[History], JobSite]:
    """Return a notifier of every job, which runs a script."""
    tell = path / "tell"
    tell.write_text(f"#!/bin/sh\n{body}\n")
    tell.chmod(tell.stat().st_mode | stat.S_IXUSR)
    return lambda _: JobSite(notifier=(str(tell), str(path / "told")))


def view(folder: JobFolder) -> View:
    job_status = JobStatus(state="FAILED", code=255, why=said(""), ended=True)
    return View(folder=folder, history=open_job(folder).history, job_status=job_status)


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return job_folder(tmp_path / "jobs", replace(CREATED, notify=ALL), INTENT, SUBMITTED, RAN, ENDED)


def reported(folder: JobFolder) -> list[tuple[str, bool]]:
    return [(r.key, r.delivered) for r in read(folder.journal).records if isinstance(r, Notified)]


def test_events_are_sent_once_as_json(tmp_path: Path, folder: JobFolder) -> None:
    sender = NotificationSender(program(tmp_path, 'cat >>"$1"'))
    assert sender.wanted(view(folder))
    sender.deliver([view(folder)], NOW)
    sender.finish(NOW)
    sender.deliver([view(folder)], NOW)
    sender.finish(NOW)
    events = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert sorted(event["event"] for event in events) == ["failed", "running"]
    assert {(event["job"], event["user"], event["job_id"]) for event in events} == {("demo", "alice", "7")}
    assert sorted(reported(folder)) == [(f"{INTENT.tag}/failed", True), (f"{INTENT.tag}/running", True)]
    assert not sender.wanted(view(folder))


@pytest.mark.parametrize("body", ["exit 0", "exit 1"])
def test_a_sender_forgets_notifications_after_a_day(tmp_path: Path, folder: JobFolder, body: str) -> None:
    now = 0.0
    sender = NotificationSender(program(tmp_path, body), monotonic=lambda: now)
    sender.deliver([view(folder)], NOW)
    sender.finish(NOW)
    assert len(sender._done) + len(sender._pauses) == 2
    now = OLDEST_SECONDS + 100.0
    sender.deliver([], NOW + OLDEST_SECONDS + 100)
    assert not sender._done
    assert not sender._pauses


@pytest.mark.parametrize("body", ["exit 1", "kill -9 $$", "exec <&-; exit 3"])
def test_a_failed_notification_is_repeated_later(tmp_path: Path, folder: JobFolder, body: str) -> None:
    times = [0.0]
    sender = NotificationSender(program(tmp_path, f'echo x >>"$1"; {body}'), monotonic=lambda: times[-1])
    tries = []
    for time in (0.0, 5.0, 10.5, 15.0, 31.0):
        times.append(time)
        sender.deliver([view(folder)], NOW)
        sender.finish(NOW)
        tries.append((tmp_path / "told").read_text().count("x"))
    assert tries == [2, 2, 4, 4, 6]
    assert reported(folder) == []
    sender.deliver([view(folder)], NOW + OLDEST_SECONDS + 1)
    assert [delivered for _, delivered in reported(folder)] == [False, False]


def test_a_hanging_program_does_not_block_the_monitor(tmp_path: Path, folder: JobFolder) -> None:
    now = 0.0
    sender = NotificationSender(program(tmp_path, 'echo x >>"$1"; exec sleep 1000'), monotonic=lambda: now)
    sender.deliver([view(folder)], NOW)
    sender.deliver([view(folder)], NOW)
    running = [each.process for each in sender._running.values()]
    assert len(running) == 2
    now = 61.0
    sender.deliver([], NOW)
    assert [process.returncode for process in running] == [-9, -9]


def test_a_missing_program_is_reported(tmp_path: Path, folder: JobFolder) -> None:
    sender = NotificationSender(lambda _: JobSite(notifier=(str(tmp_path / "missing"),)))
    sender.deliver([view(folder)], NOW)
    assert reported(folder) == []


def test_without_a_notification_program_nothing_is_pending(folder: JobFolder) -> None:
    sender = NotificationSender()
    sender.deliver([view(folder)], NOW)
    assert not sender.wanted(view(folder))


def test_an_unrecorded_notification_is_sent_again(tmp_path: Path, folder: JobFolder) -> None:
    tell = program(tmp_path, 'cat >>"$1"')
    for _ in range(2):
        before = folder.journal.read_bytes()
        sender = NotificationSender(tell)
        sender.deliver([view(folder)], NOW)
        sender.finish(NOW)
        folder.journal.write_bytes(before)
    assert len((tmp_path / "told").read_text().splitlines()) == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028", ">\n\n"])
def test_values_cannot_add_mail_headers(end: str) -> None:
    """The journal can say anything."""
    notification = Notification(
        key=f"x{end}Bcc: z/failed", event="failed", job="a\nBcc: x", user=f"alice{end}Bcc: y, é@b", state="FAILED",
        exit_code=255, reason="r" * 100_000, attempt=0, retries=0, job_id="7", happened_at=NOW,
    )  # fmt: skip
    head, _, body = message(notification, mail=True).decode().partition("\n\n")
    assert head.isascii()
    assert head.splitlines()[0] == "To: aliceBccyb"
    assert [line.partition(":")[0] for line in head.splitlines()] == [
        "To", "Subject", "MIME-Version", "Content-Type", "Message-ID",
    ]  # fmt: skip
    assert json.loads(body)["job"] == "a\nBcc: x"
    assert len(message(notification, mail=False)) < 4096
    long = replace(notification, key="k" * 100_000, job="\u2028" * 100_000, user="u" * 100_000, job_id="7" * 100_000)
    for mail in (False, True):
        reported = message(long, mail=mail)
        assert len(reported) < 65536, "more than a pipe takes, which a program need not read"
        assert not mail or max(map(len, reported.partition(b"\n\n")[0].splitlines())) < 998


def test_notification_records_do_not_change_the_job_state(folder: JobFolder) -> None:
    append(folder.journal, TOLD)
    known = folder.history()
    assert (known.ended, known.attempt) == (ENDED, 0)

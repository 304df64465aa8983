"""Run a program for each notification: at least once, in parallel to other work, with a time-out."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from paislurm.backends.runner import environment_of_process, without_token

from ..state.journal_records import Notified
from .job_site import OLDEST_SECONDS, JobSite, due_notifications

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from .facts import View
    from .job_site import Notification

MAX_AT_ONCE = 4
MAX_SECONDS = 60
MAX_TEXT, MAX_SUBJECT = 1000, 200
_PLAIN = frozenset(map(chr, range(32, 127)))
FIRST_PAUSE, MAX_PAUSE = 10.0, 600.0


class _Delivery(Struct, kw_only=True):
    folder: JobFolder
    notification: Notification
    process: Popen[bytes]
    began: float


class NotificationSender:
    """Pass notifications to a program, as JSON or as a mail. Retry failures for a day, with growing pauses.

    `site_of` returns the settings for a job.
    """

    def __init__(
        self,
        site_of: Callable[[History], JobSite] = lambda _: JobSite(),
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._site_of = site_of
        self._monotonic = monotonic
        self._running: dict[str, _Delivery] = {}
        self._pauses: dict[str, tuple[float, float]] = {}
        self._done: dict[str, float] = {}

    @property
    def busy(self) -> bool:
        return bool(self._running)

    def wanted(self, view: View) -> bool:
        """Return whether a job has undelivered notifications."""
        left = any(notification.key not in self._done for notification in due_notifications(view.history))
        return left and bool(self._site_of(view.history).notifier)

    def deliver(self, views: Iterable[View], now: int) -> None:
        """Record delivered notifications and start those that are due; `now` is in seconds since 1970."""
        self._reap(now)
        self._forget()
        for view in views:
            for notification in due_notifications(view.history):
                if notification.key in self._done or not (site := self._site_of(view.history)).notifier:
                    continue
                if now - notification.happened_at > OLDEST_SECONDS:
                    _record(view.folder, notification, now, delivered=False)
                elif len(self._running) < MAX_AT_ONCE and self._is_due(notification.key):
                    self._start(view.folder, notification, site)

    def finish(self, now: int) -> None:
        for running in list(self._running.values()):
            with suppress(Exception):
                running.process.wait(max(0.0, MAX_SECONDS - (self._monotonic() - running.began)))
        self._reap(now)

    def _is_due(self, key: str) -> bool:
        _, after = self._pauses.get(key, (0.0, 0.0))
        return key not in self._running and self._monotonic() >= after

    def _start(self, folder: JobFolder, notification: Notification, site: JobSite) -> None:
        try:
            process = Popen(
                site.notifier, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, cwd="/",
                env=without_token(environment_of_process()), start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._postpone(notification.key)
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.write(message(notification, mail=site.sends_mail))
        with suppress(OSError):
            process.stdin.close()
        self._running[notification.key] = _Delivery(
            folder=folder, notification=notification, process=process, began=self._monotonic()
        )

    def _reap(self, now: int) -> None:
        for key, running in list(self._running.items()):
            status = running.process.poll()
            if status is None and self._monotonic() - running.began < MAX_SECONDS:
                continue
            if status is None:
                with suppress(OSError):
                    os.killpg(running.process.pid, signal.SIGKILL)
                running.process.wait()
            del self._running[key]
            if status == 0:
                # The journal records it too, but an older view may still be in use.
                self._done[key] = self._monotonic()
                _record(running.folder, running.notification, now, delivered=True)
            else:
                self._postpone(key)

    def _forget(self) -> None:
        """Forget what is older than a day, after which an event notifies nobody."""
        since = self._monotonic() - OLDEST_SECONDS
        self._done = {key: when for key, when in self._done.items() if when > since}
        self._pauses = {key: pause for key, pause in self._pauses.items() if pause[1] > since}

    def _postpone(self, key: str) -> None:
        pause, _ = self._pauses.get(key, (FIRST_PAUSE / 2, 0.0))
        pause = min(MAX_PAUSE, pause * 2)
        self._pauses[key] = (pause, self._monotonic() + pause)


def _record(folder: JobFolder, notification: Notification, now: int, *, delivered: bool) -> None:
    """Record that a notification is done. If the record cannot be written, it is sent again."""
    with suppress(OSError):
        folder.append(
            Notified(happened_at=now, attempt=notification.attempt, key=notification.key, delivered=delivered)
        )


def message(notification: Notification, *, mail: bool) -> bytes:
    """Return the program's input, a JSON object or a mail to the user that contains it. It fits into a pipe.

    A journal may contain anything: remove characters that could end a mail header or start another.
    """
    fields = {
        name: value[:MAX_TEXT] if isinstance(value, str) else value for name, value in to_builtins(notification).items()
    }
    text = json.dumps(fields, indent=2 if mail else None) + "\n"
    if not mail:
        return text.encode()
    subject = "".join(
        char if char in _PLAIN else "?" for char in f"{notification.user}~{notification.job}: {notification.event}"
    )
    head = (
        f"To: {_word(notification.user)}\nSubject: [paislurm] {subject[:MAX_SUBJECT]}\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=utf-8\n"
    )
    return f"{head}Message-ID: <{_word(notification.key.replace('/', '.'))}@paislurm>\n\n{text}".encode()


def _word(text: str) -> str:
    """Return a text as one word of a mail header."""
    return "".join(char for char in text if char in _PLAIN and (char.isalnum() or char in "._-"))[:MAX_SUBJECT]

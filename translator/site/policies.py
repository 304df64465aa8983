"""What a profile says about retries, the exit specification, the background monitor and notifications."""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from ..ages import AGE_PATTERN, age_seconds
from ..exit_codes.table import BEHAVIOURS, Behaviour, ExitTable, SiteRow
from ..validation.diagnostics import near_hint
from ..validation.marks import Before, Validator
from ..validation.partial_model import placed
from ..validation.strict_model import (
    Boolean,
    StrictModel,
    Text,
    choice,
    expected,
    int_range,
    integer,
    pattern,
)
from .profile import MonitorSettings, Notifier, RetrySettings

if TYPE_CHECKING:
    from ..validation.diagnostics import DiagnosticCollector

MAX_CODE = 99999
DAY = 86400
_RETRY, _MONITOR = RetrySettings(), MonitorSettings()
Seconds = Annotated[int, int_range(2, 3600)]
Program = Annotated[str, pattern("the path of a program", "/[^\x00-\x1f]+")]


def _code(value: object) -> int:
    number = integer(value)
    if not number or abs(number) > MAX_CODE:
        raise expected(f"an exit code: a whole number from -{MAX_CODE} to {MAX_CODE}, and not 0")
    return number


class Retry(StrictModel):
    """Bounds of retries that OpenPAI did not have. Source: this project's docs, monitor."""

    max_transient_retries: Annotated[int, int_range(0)] = _RETRY.max_transient_retries
    max_attempts_per_hour: Annotated[int, int_range(1)] = _RETRY.max_attempts_per_hour
    max_restarts: Annotated[int, int_range(1)] | None = None
    submit_wait: Annotated[int, int_range(0, 24 * 3600)] = _RETRY.submit_wait
    on_root_cancel: Annotated[Literal["stop", "retry"], choice("stop", "retry")] = _RETRY.on_root_cancel

    def settings(self) -> RetrySettings:
        """Return the settings as the planner and the monitor see them."""
        return RetrySettings(
            max_transient_retries=self.max_transient_retries,
            max_attempts_per_hour=self.max_attempts_per_hour,
            max_restarts=self.max_restarts,
            submit_wait=self.submit_wait,
            on_root_cancel=self.on_root_cancel,
        )


class Logs(StrictModel):
    """What tasks print: each stream to a file of its own, or both to one. Source: this project's docs, run folder."""

    one_file_per_task: Boolean = False


def _age(value: object) -> int:
    seconds = age_seconds(value) if isinstance(value, str) else None
    if seconds is None or seconds < DAY:
        raise expected("an age of a day at least, such as `30d`")
    return seconds


class Jobs(StrictModel):
    """For how long jobs that have ended are kept. Source: this project's docs, run folder."""

    remove_after: Annotated[int, Validator(_age, {"type": "string", "pattern": AGE_PATTERN})] | None = None


class ExitRow(StrictModel):
    """A row over the shipped exit specification: what is left out stays as it is there."""

    code: Annotated[int, Validator(_code, {"type": "integer", "not": {"const": 0}})]
    phrase: Annotated[str, pattern("a phrase of letters and digits", "[A-Za-z][A-Za-z0-9]*")] | None = None
    behaviour: Annotated[Behaviour, choice(*BEHAVIOURS)] | None = None
    states: dict[str, Text] = {}
    exclude_node: Boolean | None = None

    def row(self) -> SiteRow:
        """Return the row for the exit table."""
        return SiteRow(
            exit_code=self.code,
            phrase=self.phrase,
            behaviour=self.behaviour,
            backend_states=self.states,
            exclude_node=self.exclude_node,
        )


class Monitor(StrictModel):
    """Whether `submit` leaves a monitor behind, and how seldom Slurm is asked, in seconds."""

    background: Boolean = _MONITOR.background
    max_poll_interval: Seconds = _MONITOR.max_poll_interval

    def settings(self) -> MonitorSettings:
        """Return the settings as the monitor sees them."""
        return MonitorSettings(background=self.background, max_poll_interval=self.max_poll_interval)


class _NoMonitor(Monitor):
    """The site forbids any process on its login nodes."""

    def settings(self) -> MonitorSettings:
        """Return the settings as the planner and `submit` see them."""
        return MonitorSettings(background=False, at_end=True)


NO_MONITOR = "none"


def _monitor_or_none(value: object) -> object:
    if value == NO_MONITOR:
        return _NoMonitor()
    if not isinstance(value, (dict, Monitor)):
        raise expected(f"`{NO_MONITOR}` or a mapping such as `{{maxPollInterval: 300}}`")
    return value


MonitorOrNone = Annotated[Monitor, Before(_monitor_or_none, {"const": NO_MONITOR})]


class Notifications(StrictModel):
    """What is told of changes: a program with its arguments, or the path of sendmail."""

    command: list[Text] = []
    sendmail: Program | None = None

    def notifier(self) -> Notifier | None:
        """Return the notifier, None where there is none."""
        if self.sendmail is not None:
            return Notifier(argv=(self.sendmail, "-t", "-i"), mail=True)
        return Notifier(argv=tuple(self.command), mail=False) if self.command else None


def check_exit_spec(rows: list[ExitRow], collector: DiagnosticCollector) -> None:
    """Add a diagnostic for each state that is no ending, and for each that two rows claim."""
    claimed: dict[str, int] = {}
    endings = ExitTable().states
    for path, row in placed(("exitSpec",), rows):
        for word in row.states:
            if word not in endings:
                message, hint = f"`{word}` is no way in which Slurm ends a job", near_hint(word, endings)
                collector.add("E463", (*path, "states", word), message, hint=hint, key=True)
            elif word in claimed:
                message = f"`{word}` already means {claimed[word]}"
                collector.add("E463", (*path, "states", word), message, key=True)
            else:
                claimed[word] = row.code or 0


def check_notifications(both: Notifications, collector: DiagnosticCollector) -> None:
    """Add a diagnostic where two notifiers are named."""
    if both.command and both.sendmail:
        message = "there are two notifiers, `command` and `sendmail`: leave one out"
        collector.add("E464", ("notifications", "sendmail"), message, key=True)

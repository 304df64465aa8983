"""What a profile says about retries, the exit specification, logs, old jobs, the monitor and notifications."""

# ruff: noqa: RUF012 - models are frozen
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import BeforeValidator

from ..exit_codes.table import BEHAVIOURS, Behaviour, ExitTable, SiteRow
from ..times import DURATION_PATTERN, duration
from ..validation.diagnostics import near_hint
from ..validation.partial_model import placed
from ..validation.strict_model import (
    Boolean,
    StrictModel,
    Text,
    Validator,
    choice,
    expected,
    int_range,
    integer,
    pattern,
)

if TYPE_CHECKING:
    from ..validation.diagnostics import DiagnosticCollector

MAX_CODE = 99999
DAY = 86400
Seconds = Annotated[int, int_range(2, 3600)]
Program = Annotated[str, pattern("the path of a program", "/[^\x00-\x1f]+")]


def _code(value: object) -> int:
    number = integer(value)
    if not number or abs(number) > MAX_CODE:
        raise expected(f"an exit code: a whole number from -{MAX_CODE} to {MAX_CODE}, and not 0")
    return number


class Retry(StrictModel):
    """Bounds of retries that OpenPAI did not have. Source: this project's docs, monitor."""

    max_transient_retries: Annotated[int, int_range(0)] = 10
    """The most transient retries of one task, and of one job."""
    max_attempts_per_hour: Annotated[int, int_range(1)] = 60
    """How many retries are submitted in an hour for all jobs of a user; submits by hand do not count."""
    max_restarts: Annotated[int, int_range(1)] | None = None
    """How often a job or a task with a retry count of -2 is restarted. Default: such a job is refused, and such a task
    has `retry.maxTransientRetries`."""
    submit_wait: Annotated[int, int_range(0, 24 * 3600)] = 600
    """How long `submit` tries again, in seconds, where an account may have no more jobs in the queue."""
    on_root_cancel: Annotated[Literal["stop", "retry"], choice("stop", "retry")] = "stop"
    """Whether a job that root cancelled is stopped, as one that its user did, or retried."""

    @property
    def most_restarts(self) -> int:
        """How often anything is restarted that has no limit of its own."""
        return self.max_transient_retries if self.max_restarts is None else self.max_restarts


class Logs(StrictModel):
    """What tasks print: each stream to a file of its own, or both to one. Source: this project's docs, run folder."""

    one_file_per_task: Boolean = False
    """Whether standard output and error of a task go to one file."""


def _age(value: object) -> int:
    seconds = duration(value) if isinstance(value, str) else None
    if seconds is None or seconds < DAY:
        raise expected("an age of a day at least, such as `30d`")
    return seconds


class Jobs(StrictModel):
    """For how long jobs that have ended are kept. Source: this project's docs, run folder."""

    remove_after: Annotated[int, Validator(_age, {"type": "string", "pattern": DURATION_PATTERN})] | None = None
    """The age, from its end on, at which the monitor removes a job, such as `30d`. Default: jobs stay."""


class ExitRow(StrictModel):
    """A row over the shipped exit specification: what is left out stays as it is there."""

    code: Annotated[int, Validator(_code, {"type": "integer", "not": {"const": 0}})]
    """The exit code."""
    phrase: Annotated[str, pattern("a phrase of letters and digits", "[A-Za-z][A-Za-z0-9]*")] | None = None
    """What it is called."""
    behaviour: Annotated[Behaviour, choice(*BEHAVIOURS)] | None = None
    """How it is retried."""
    states: dict[str, Text] = {}
    """Slurm's words for an end that means this code, each with a sentence for people."""
    exclude_node: Boolean | None = None
    """Whether a fresh attempt leaves out the node on which this happened."""

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
    """Whether `submit` leaves a monitor behind, and how often that polls Slurm."""

    background: Boolean = True
    """Whether `submit` leaves a monitor behind."""
    max_poll_interval: Seconds = 180
    """How often Slurm is polled, in seconds, for all jobs of a user at once; files tell the rest."""

    @property
    def at_end(self) -> bool:
        """Whether no process may stay on a login node: an attempt takes a step of the monitor at its own end."""
        return False

    @property
    def way(self) -> Literal["background", "commands", "none"]:
        """Who looks after jobs: a monitor, commands that show them, or the ends of their attempts."""
        if self.at_end:
            return "none"
        return "background" if self.background else "commands"


class _NoMonitor(Monitor):
    """The site forbids any process on its login nodes."""

    @property
    def at_end(self) -> bool:
        return True


NO_MONITOR = "none"


def _monitor_or_none(value: object) -> object:
    if value == NO_MONITOR:
        return _NoMonitor(background=False)
    if not isinstance(value, (dict, Monitor)):
        raise expected(f"`{NO_MONITOR}` or a mapping such as `{{maxPollInterval: 300}}`")
    return value


MonitorOrNone = Annotated[Monitor, BeforeValidator(_monitor_or_none)]


class Notifier(NamedTuple):
    """Name the program that gets an event on its standard input: as JSON, or as a mail to the user."""

    argv: tuple[str, ...]
    mail: bool


class Notifications(StrictModel):
    """What is notified of changes: a program with its arguments, or the path of sendmail."""

    command: tuple[Text, ...] = ()
    """A program with its arguments; each event comes to its standard input as JSON."""
    sendmail: Program | None = None
    """The path of sendmail; each event is mailed to the job's user."""

    @property
    def notifier(self) -> Notifier | None:
        """The notifier, None where there is none."""
        if self.sendmail is not None:
            return Notifier(argv=(self.sendmail, "-t", "-i"), mail=True)
        return Notifier(argv=self.command, mail=False) if self.command else None


def check_exit_spec(rows: tuple[ExitRow, ...], collector: DiagnosticCollector) -> None:
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

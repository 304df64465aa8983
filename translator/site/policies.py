"""The parts of a site profile about retries, exit codes, logs, old jobs, the monitor and notifications."""

# ruff: noqa: RUF012 - models are frozen
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
        raise expected(f"an exit code: a whole number from -{MAX_CODE} to {MAX_CODE} other than 0")
    return number


class Retry(StrictModel):
    """Bounds of retries; OpenPAI has none. Source: this project's docs, monitor."""

    max_transient_retries: Annotated[int, int_range(0)] = 10
    """The most transient retries of one task, and of one job."""
    max_attempts_per_hour: Annotated[int, int_range(1)] = 60
    """The most retries in an hour for all jobs of a user; submits by hand do not count."""
    max_restarts: Annotated[int, int_range(1)] | None = None
    """How often a job or a task with a retry count of -2 restarts. Default: such a job is refused, and such a task
    has `retry.maxTransientRetries`."""
    submit_wait: Annotated[int, int_range(0, 24 * 3600)] = 600
    """How long `submit` retries, in seconds, while an account has the most jobs that it may queue."""
    on_root_cancel: Annotated[Literal["stop", "retry"], choice("stop", "retry")] = "stop"
    """Whether a job that root cancelled is stopped, as after a cancel by its user, or retried."""

    @property
    def most_restarts(self) -> int:
        """The bound of restarts with its default."""
        return self.max_transient_retries if self.max_restarts is None else self.max_restarts


class Logs(StrictModel):
    """The output files of tasks: one for each stream, or one for both. Source: this project's docs, run folder."""

    one_file_per_task: Boolean = False
    """Whether standard output and error of a task go to one file."""


def _age(value: object) -> int:
    seconds = duration(value) if isinstance(value, str) else None
    if seconds is None or seconds < DAY:
        raise expected("an age of a day at least, such as `30d`")
    return seconds


class Jobs(StrictModel):
    """How long finished jobs are kept. Source: this project's docs, run folder."""

    remove_after: Annotated[int, Validator(_age, {"type": "string", "pattern": DURATION_PATTERN})] | None = None
    """The age since the end at which the monitor removes a job, such as `30d`. Default: jobs stay."""


class ExitRow(StrictModel):
    """A row over the shipped exit specification; a missing key keeps the shipped value."""

    code: Annotated[int, Validator(_code, {"type": "integer", "not": {"const": 0}})]
    """The exit code."""
    phrase: Annotated[str, pattern("a phrase of letters and digits", "[A-Za-z][A-Za-z0-9]*")] | None = None
    """Its name."""
    behaviour: Annotated[Behaviour, choice(*BEHAVIOURS)] | None = None
    """How it is retried."""
    states: dict[str, Text] = {}
    """The states of Slurm that mean this code, each with a sentence for users."""
    exclude_node: Boolean | None = None
    """Whether a retry avoids the node of the failure."""

    def row(self) -> "SiteRow":
        """Return the row for the exit table."""
        return SiteRow(
            exit_code=self.code,
            phrase=self.phrase,
            behaviour=self.behaviour,
            backend_states=self.states,
            exclude_node=self.exclude_node,
        )


class Monitor(StrictModel):
    """Whether `submit` starts a background monitor, and how often the monitor polls Slurm."""

    background: Boolean = True
    """Whether `submit` starts a background monitor."""
    max_poll_interval: Seconds = 180
    """The longest interval between two polls of Slurm, in seconds, for all jobs of a user; files report the rest."""

    @property
    def at_end(self) -> bool:
        """Whether login nodes must run no process, so that each attempt runs a monitor step at its end."""
        return False

    @property
    def way(self) -> Literal["background", "commands", "none"]:
        """How jobs are monitored: by a background monitor, by commands that show jobs, or at the ends of attempts."""
        if self.at_end:
            return "none"
        return "background" if self.background else "commands"


class _NoMonitor(Monitor):
    """The setting of a site without processes on its login nodes."""

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
    """The program for events, and whether it reads JSON or a mail to the user on its standard input."""

    argv: tuple[str, ...]
    mail: bool


class Notifications(StrictModel):
    """How events are notified: with a program and its arguments, or with sendmail."""

    command: tuple[Text, ...] = ()
    """A program with its arguments; it reads each event as JSON on its standard input."""
    sendmail: Program | None = None
    """The path of sendmail; each event is mailed to the job's user."""

    @property
    def notifier(self) -> Notifier | None:
        """The notifier, None without one."""
        if self.sendmail is not None:
            return Notifier(argv=(self.sendmail, "-t", "-i"), mail=True)
        return Notifier(argv=self.command, mail=False) if self.command else None


def check_exit_spec(rows: tuple[ExitRow, ...], collector: "DiagnosticCollector") -> None:
    """Add a diagnostic for each state that does not end a job, and for each state in two rows."""
    claimed: dict[str, int] = {}
    endings = ExitTable().states
    for path, row in placed(("exitSpec",), rows):
        for word in row.states:
            if word not in endings:
                message, hint = f"`{word}` is not a final state of Slurm", near_hint(word, endings)
                collector.add("E463", (*path, "states", word), message, hint=hint, key=True)
            elif word in claimed:
                message = f"`{word}` already means {claimed[word]}"
                collector.add("E463", (*path, "states", word), message, key=True)
            else:
                claimed[word] = row.code or 0


def check_notifications(both: Notifications, collector: "DiagnosticCollector") -> None:
    """Add a diagnostic if the profile has two notifiers."""
    if both.command and both.sendmail:
        message = "`command` cannot be used with `sendmail`: remove one"
        collector.add("E464", ("notifications", "sendmail"), message, key=True)

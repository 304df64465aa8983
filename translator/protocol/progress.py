"""The key `progress` of `extras.slurm`: the stall guard, which finds tasks that have stopped moving.

Source: this project's docs, stalled jobs.
"""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator

from ..slurm_options import OnStall, Progress
from ..times import DURATION_PATTERN, duration
from ..validation.strict_model import StrictModel, Validator, choice, expected

_MAX_SECONDS = 30 * 24 * 3600
_FORMS = "a duration from `1s` to `30d`, such as `15m`"


def _duration(value: object) -> timedelta:
    seconds = duration(value) if isinstance(value, str) else None
    if seconds is None or not 0 < seconds <= _MAX_SECONDS:
        hint = f"write `{value}m` for minutes" if isinstance(value, int) and not isinstance(value, bool) else ""
        raise expected(_FORMS, hint)
    return timedelta(seconds=seconds)


def _one_line(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise expected("text in one line")
    return value


Duration = Annotated[timedelta, Validator(_duration, {"type": "string", "pattern": f"^(?:{DURATION_PATTERN})$"})]
Line = Annotated[str, Validator(_one_line, {"type": "string", "minLength": 1})]


class WatchedSign(StrictModel):
    """A sign of progress other than output: exactly one of the two keys."""

    file: Line | None = None
    """A path or pattern, from the folder where the commands start: a new size or time of a file is progress."""
    command: Line | None = None
    """A command of bash: a change of its output is progress."""


def _by(value: object) -> object:
    if value == "output":
        return WatchedSign.of()
    if isinstance(value, WatchedSign) or (isinstance(value, dict) and len(value) == 1):
        return value
    raise expected("`output`, or a mapping with one of `file` and `command`")


class SlurmProgress(StrictModel):
    """When tasks count as stalled, and what follows."""

    within: Duration
    """How long tasks may be without progress."""
    by: Annotated[WatchedSign, BeforeValidator(_by, json_schema_input_type=Literal["output"] | WatchedSign)] = (
        WatchedSign.of()
    )
    """The sign of progress: `output` of the commands, a `file`, or the output of a `command`. Default: output."""
    action: Annotated[OnStall, choice("report", "end")] = "report"
    """`report` names the task that the others wait for; `end` also ends the attempt, which is then retried."""
    warm_up: Duration | None = None
    """The time without progress permitted in addition after the start of the commands. Default: `within`."""

    @property
    def progress(self) -> Progress:
        """The setting as the plan needs it."""
        return Progress(
            within=self.within,
            warm_up=self.within if self.warm_up is None else self.warm_up,
            action=self.action,
            watched_file=self.by.file or "",
            watched_command=self.by.command or "",
        )


_NONE = SlurmProgress.of(within=timedelta(0))


def _progress(value: object) -> object:
    if value is False:
        return _NONE
    if isinstance(value, (dict, SlurmProgress)):
        return value
    raise expected("false or a mapping such as `{within: 15m}`")


ProgressChoice = Annotated[
    SlurmProgress, BeforeValidator(_progress, json_schema_input_type=Literal[False] | SlurmProgress)
]

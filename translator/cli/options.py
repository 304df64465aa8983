"""Options and arguments that several commands share."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from ..errors import nearest
from .shell.candidates import Job, JobOrGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app.session import Session
    from ..monitor.job_status import State

STATES: tuple[State, ...] = ("WAITING", "RUNNING", "STOPPING", "SUCCEEDED", "FAILED", "STOPPED")
"""In the order in which tables have them."""
if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:  # a click before 8.2 has no types of choices
    _Choice = click.Choice
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")


class NearChoice(_Choice):
    """One of a few words, in any case; the error for another one has the nearest of them."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word that is meant."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = nearest(str(value), self.choices)
            hint = f" Did you mean `{near}`?" if near else ""
            raise click.BadParameter(error.message + hint, ctx=ctx, param=param) from None


class WholeNumber(click.IntRange):
    """A number without a fraction, in a range or not; what is none is refused in plain words."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; BadParameter says which ones there are."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"expected a whole number{self._range()}, found '{value}'", param, ctx)
        assert isinstance(number, int)
        return number

    def _describe_range(self) -> str:
        """Return the range for the help of click, which would write `x<=None` where there is none."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def _range(self) -> str:
        if self.min is None:
            return "" if self.max is None else f" up to {self.max}"
        return f" from {self.min} on" if self.max is None else f" from {self.min} to {self.max}"


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    if context.obj is not None:
        context.obj.json = value
    return value


def pass_session(command: Callable[Concatenate[Session, P], R]) -> Callable[P, R]:
    """Hand the session of the command line to a command, before its options."""

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        return command(click.get_current_context().find_root().obj.session, *args, **options)

    return run


def json_option(command: F) -> F:
    """Add `--json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        is_eager=True,
        callback=_remember_json,
        help="Print one JSON document.",
    )(command)


def job_argument(command: F) -> F:
    """Add the job that is meant."""
    return click.argument("job", metavar="JOB", type=Job())(command)


def jobs_arguments(command: F) -> F:
    """Add the jobs that are meant, any number of them, and `--last`; `select` says which they are."""
    last = click.option("--last", is_flag=True, help="The job that you submitted last, as without any JOB.")
    return click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())(last(command))


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines that can be copied, which click does not fill."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

"""Options and arguments that several commands share."""

from __future__ import annotations

import time
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from ..errors import nearest
from ..times import MOMENTS, duration, moment
from ..view.states import STATES
from .shell import candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app.session import Session

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:  # a click before 8.2 has no types of choices
    _Choice = click.Choice
TASK_STATES = tuple(state for state in STATES if state != "UNKNOWN")
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound="Callable[..., Any]")


class NearChoice(_Choice):
    """One of a few words, in upper or lower case; the error for another word suggests the nearest."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the choice."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = nearest(str(value), self.choices)
            hint = f" Did you mean `{near}`?" if near else ""
            raise click.BadParameter(error.message + hint, ctx=ctx, param=param) from None


class WholeNumber(click.IntRange):
    """A whole number, optionally in a range."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; raise BadParameter with the range."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"expected a whole number{self._range()}, found '{value}'", param, ctx)
        assert isinstance(number, int)
        return number

    def _describe_range(self) -> str:
        """Return the range for help; click would write `x<=None` without one."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def _range(self) -> str:
        if self.min is None:
            return "" if self.max is None else f" up to {self.max}"
        return f" from {self.min} on" if self.max is None else f" from {self.min} to {self.max}"


def age(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return an age such as `30d` in seconds."""
    seconds = duration(value) if value is not None else None
    if value is not None and not seconds:
        raise click.BadParameter(
            f"expected an age such as `30d`, `12h` or `1d12h` (units: s, m, h, d, w), found '{value}'"
        )
    return seconds


def since_time(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return a time such as `2h` (ago) in seconds since 1970."""
    found = None if value is None else moment(value, time.time())
    if value is not None and found is None:
        raise click.BadParameter(f"{value!r} is no time: it is {MOMENTS}")
    return found


def _remember_json(context: click.Context, _: click.Parameter, value: bool) -> bool:
    if context.obj is not None:
        context.obj.json = value
    return value


def pass_session(command: Callable[Concatenate[Session, P], R]) -> Callable[P, R]:
    """Pass the session to a command as its first argument."""

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
    """Add the argument JOB."""
    return click.argument("job", metavar="JOB", shell_complete=candidates.jobs)(command)


def states_option(text: str, states: Sequence[str] = STATES) -> Callable[[F], F]:
    """Add `--state`, which can be repeated."""
    return click.option("--state", "states", multiple=True, type=NearChoice(states), help=f"{text}; can be repeated.")


def jobs_arguments(command: F) -> F:
    """Add any number of arguments JOB, and `--last`; `select` resolves them."""
    last = click.option("--last", is_flag=True, help="Your last job; the default without JOB.")
    return click.argument("jobs", metavar="[JOB]...", nargs=-1, shell_complete=candidates.jobs_and_groups)(
        last(command)
    )


def asks_for_several(words: Sequence[str], *, last: bool) -> bool:
    """Return whether words can select several jobs, whatever their number, so that programs know the result's type."""
    from ..app.jobs.selecting import PATTERN_CHARACTERS

    return len(words) + last > 1 or any(not PATTERN_CHARACTERS.isdisjoint(word) for word in words)


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help; click does not wrap them."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

"""What words of the command line can become: jobs, their tasks, parameters of a job file.

Everything is read from files of the user's: TAB asks Slurm for nothing, and makes no folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from click import Choice, Path
from click.types import StringParamType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    Words = Choice[str]
else:
    Words = Choice  # before click 8.2 it has no type of its words

MAX_TASKS = 200
"""Tasks of a role that are offered; of more, nobody looks for one in a list."""


class Job(StringParamType):
    """Names of jobs, the user's own without `user~`, others once the word has a `~`."""

    name = "job"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the jobs that have folders."""
        from ..context import store, user_name

        own, names = f"{user_name()}~", store().names()
        short = (name.removeprefix(own) for name in names if name.startswith(own))
        return _items([*short, *(name for name in names if "~" in incomplete)], incomplete)


class Task(StringParamType):
    """Roles of the job that stands before, and their tasks."""

    name = "task"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return roles, then `ROLE-INDEX`."""
        from ..context import store, user_name
        from ..jobs.selecting import select_one

        named = ctx.params.get("job") or next(iter(ctx.params.get("jobs") or ()), None)
        roles = select_one(store(), named, user=user_name()).history().roles
        tasks = (f"{role.name}-{index}" for role in roles for index in range(min(role.instances, MAX_TASKS)))
        return _items([*(role.name for role in roles), *tasks], incomplete)


class JobOrFile(Path):
    """A job, or a file."""

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        """Return jobs; where none fits, let the shell look for files."""
        return Job().shell_complete(ctx, param, incomplete) or super().shell_complete(ctx, param, incomplete)


class Assignment(StringParamType):
    """`NAME=VALUE` of a parameter of the job file that stands on the line."""

    name = "assignment"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return names with `=`, and behind it the value that the job file has."""
        # While an option has no value yet, click has not given the words before it to the arguments.
        values = _parameters(ctx.params.get("file") or next(iter(ctx.args), None))
        name, given, _ = incomplete.partition("=")
        if given:
            return _items([f"{name}={values[name]}"] if name in values else [], incomplete)
        return _items([f"{name}=" for name in values], incomplete)


class CommaSeparated(Words):
    """Some of a fixed set of words, with commas between them."""

    def convert(self, value: str, param: Parameter | None, ctx: Context | None) -> str:
        """Return the text; who uses it splits it, and says which words there are."""
        del param, ctx
        return value

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the words that are not there yet, behind those that are."""
        before, comma, _ = incomplete.rpartition(",")
        taken = before.split(",")
        return _items([f"{before}{comma}{word}" for word in self.choices if word not in taken], incomplete)


def _parameters(file: object) -> dict[str, str]:
    """Return the parameters of a job file, as its text has them; whatever is wrong with it is for `check`."""
    from ...reading.read import read
    from ..input.job_input import STDIN, read_source

    if not isinstance(file, str) or file == STDIN:
        return {}
    document = read(read_source(file), file=file).root
    found = document.get("parameters") if isinstance(document, Mapping) else None
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def _items(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(incomplete) and word.isprintable()]

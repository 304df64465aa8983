"""Completion of jobs, their tasks and ports, and parameters of a job file.

All candidates come from the user's files: TAB calls no program of Slurm, and creates no folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from click import Path
from click.types import StringParamType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click import Context, Parameter
    from click.shell_completion import CompletionItem

    from ...app.session import Session

MAX_TASKS = 200
"""Most tasks of a role that are offered; a longer list is of no use."""


class Job(StringParamType):
    """Names of jobs: the user's own without `user~`, others if the word contains a `~`."""

    name = "job"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the jobs with folders."""
        own, names = f"{session_of(ctx).user}~", session_of(ctx).store.names()
        short = (name.removeprefix(own) for name in names if name.startswith(own))
        return items([*short, *(name for name in names if "~" in incomplete)], incomplete)


class JobOrGroup(Job):
    """A job, or all jobs of a group."""

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the jobs with folders, then the user's groups with other names."""
        jobs = super().shell_complete(ctx, param, incomplete)
        names = {item.value for item in jobs}
        return [*jobs, *(item for item in Group().shell_complete(ctx, param, incomplete) if item.value not in names)]


class Task(StringParamType):
    """Roles and tasks of the job in the preceding argument."""

    name = "task"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return roles, then `ROLE-INDEX`."""
        named = ctx.params.get("job") or next(iter(ctx.params.get("jobs") or ()), None)
        return items(_tasks(session_of(ctx), named), incomplete)


class JobOrFile(Path):
    """A job, or a file."""

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        """Return matching jobs and files; if no job matches, let the shell complete files."""
        jobs = Job().shell_complete(ctx, param, incomplete)
        # A shell completes files itself only if it gets no words.
        return jobs + items(files(incomplete), incomplete) if jobs else super().shell_complete(ctx, param, incomplete)


def files(incomplete: str) -> list[str]:
    """Return the matching files, folders with a slash."""
    import glob

    found = sorted(glob.glob(f"{glob.escape(incomplete)}*"))  # noqa: PTH207 - as typed, `./` included
    return [f"{name}/" if os.path.isdir(name) else name for name in found]  # noqa: PTH112


class Assignment(StringParamType):
    """`NAME=VALUE` for a parameter of the job file on the command line."""

    name = "assignment"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return names with `=`, and after `=` the value in the job file."""
        # click does not assign arguments before an option that has no value yet.
        values = _parameters(ctx.params.get("file") or next(iter(ctx.args), None))
        name, given, _ = incomplete.partition("=")
        if given:
            return items([f"{name}={values[name]}"] if name in values else [], incomplete)
        return items([f"{name}=" for name in values], incomplete)


class JobThenTask(JobOrGroup):
    """A job or a group, then tasks of the job."""

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:
        """Return jobs and groups for the first argument, and roles and tasks of that job for all others."""
        given = (ctx.params.get(param.name or "") or ()) or ctx.args
        if not given:
            return super().shell_complete(ctx, param, incomplete)
        return items(_tasks(session_of(ctx), str(given[0])), incomplete)


class PortLabel(StringParamType):
    """Labels of the ports of the task in the preceding argument."""

    name = "port"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the labels, and `tensorboard` if the task runs that plugin."""
        from ...app.jobs.logs.selection import chosen
        from ...app.where.web_pages import port_labels

        folder = session_of(ctx).store.find(str(ctx.params.get("job")), user=session_of(ctx).user)
        role, index = chosen(folder.history().roles, (str(ctx.params.get("task")),))[0]
        return items(port_labels(folder, role.name, index), incomplete)


class Group(StringParamType):
    """Names of groups of jobs."""

    name = "group"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the groups of the user's jobs."""
        from ...app.jobs.selecting import groups

        return items(groups(session_of(ctx).store, user=session_of(ctx).user), incomplete)


class Columns(StringParamType):
    """Columns of `list`, separated by commas."""

    name = "columns"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the typed columns followed by each unused one."""
        from ..output.job_table import COLUMNS

        before, comma, _ = incomplete.rpartition(",")
        taken = before.split(",")
        return items([f"{before}{comma}{word}" for word in COLUMNS if word not in taken], incomplete)


class Command(StringParamType):
    """Names of commands."""

    name = "command"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the commands of the program."""
        from ..command_group import COMMANDS

        return items(COMMANDS, incomplete)


class Backend(StringParamType):
    """Names of backends."""

    name = "backend"

    def shell_complete(self, ctx: Context, param: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the backends whose name needs no host."""
        return items(("slurm", "pyslurm", "auto", "local"), incomplete)


def session_of(context: Context) -> Session:
    """Return the session of the command line, or a new one during completion."""
    from ...app.session import Session

    found = getattr(context.find_root().obj, "session", None)
    return found if isinstance(found, Session) else Session()


def _tasks(session: Session, job: str | None) -> list[str]:
    """Return the roles of a job, then its tasks. Default: the last job."""
    from ...app.jobs.selecting import select_one

    roles = select_one(session.store, job, user=session.user).history().roles
    tasks = (f"{role.name}-{index}" for role in roles for index in range(min(role.instances, MAX_TASKS)))
    return [*(role.name for role in roles), *tasks]


def _parameters(file: object) -> dict[str, str]:
    """Return the parameters in the text of a job file; errors are ignored, `check` reports them."""
    from ...app.input.job_input import read_source
    from ...app.input.source import STDIN
    from ...reading.read import read

    if not isinstance(file, str) or file == STDIN:
        return {}
    document = read(read_source(file), file=file).root
    found = document.get("parameters") if isinstance(document, Mapping) else None
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def items(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the matching words as completion items."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(incomplete) and word.isprintable()]

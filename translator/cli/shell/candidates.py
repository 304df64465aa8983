"""Candidates for completion: jobs, tasks, ports, parameters, columns, codes, and names of the site profile.

Each function is click's `shell_complete` of an argument or option. All candidates come from the user's files: TAB
calls no program of Slurm, and creates no folder.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from click import Context, Parameter

    from ...app.session import Session

    Complete = Callable[[Context, Parameter, str], list[CompletionItem]]

MAX_TASKS = 200
"""Most tasks of a role that are offered; a longer list is of no use."""


def jobs(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return the user's jobs without `user~`, and those of others if the word contains a `~`."""
    session = session_of(context)
    own, names = f"{session.user}~", session.jobs.names()
    short = (name.removeprefix(own) for name in names if name.startswith(own))
    return items([*short, *(name for name in names if "~" in word)], word)


def groups(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return the groups of the user's jobs."""
    return items(session_of(context).jobs.groups(), word)


def jobs_and_groups(context: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
    """Return jobs, then groups with other names."""
    found = {item.value: item for item in (*jobs(context, parameter, word), *groups(context, parameter, word))}
    return list(found.values())


def jobs_and_files(context: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
    """Return matching jobs and files; if no job matches, let the shell complete files."""
    return with_files(jobs(context, parameter, word), word)


def tasks(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return roles, then `ROLE-INDEX`, of the job in the preceding argument. Default: the last job."""
    return items(_tasks(session_of(context), context.params.get("job")), word)


def job_then_tasks(context: Context, parameter: Parameter, word: str) -> list[CompletionItem]:
    """Return jobs and groups for the first argument, and roles and tasks of that job for all others."""
    given = (context.params.get(parameter.name or "") or ()) or context.args
    if not given:
        return jobs_and_groups(context, parameter, word)
    return items(_tasks(session_of(context), str(given[0])), word)


def port_labels(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return the port labels of the task in the preceding argument."""
    job, task = str(context.params.get("job")), str(context.params.get("task"))
    return items(session_of(context).tasks.port_labels(job, task), word)


def assignments(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return `NAME=` for parameters of the job file, and after `=` the value in the job file."""
    from ...app.input.source import STDIN

    # click does not assign arguments before an option that has no value yet.
    file = context.params.get("file") or next(iter(context.args), None)
    if not isinstance(file, str) or file == STDIN:
        return []
    pairs = session_of(context).compiler.parameters(file).items()
    return items([f"{name}={value if '=' in word else ''}" for name, value in pairs], word)


def columns(_: Context, __: Parameter, word: str) -> list[CompletionItem]:
    """Return the typed columns of `list` followed by each unused one."""
    from ..output.job_table import COLUMNS

    before, comma, _typed = word.rpartition(",")
    taken = before.split(",")
    return items([f"{before}{comma}{name}" for name in COLUMNS if name not in taken], word)


def backends(_: Context, __: Parameter, word: str) -> list[CompletionItem]:
    """Return the backends whose name needs no host."""
    return items(("slurm", "pyslurm", "auto", "local"), word)


def causes(_: Context, __: Parameter, word: str) -> list[CompletionItem]:
    """Return the causes of failures that have names."""
    return items(("any", "out-of-memory", "timeout"), word)


def codes_and_files(context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    """Return matching exit codes, their names and states of Slurm, and files."""
    words = session_of(context).compiler.exit_words(context.params.get("site"))
    return with_files(items(words, word) if word else [], word)


def _of_site(key: str, context: Context, _: Parameter, word: str) -> list[CompletionItem]:
    site = session_of(context).sites.find(context.params.get("site"), host=context.params.get("host"))
    named = {"partition": site.partitions, "account": site.accounts or (), "qos": site.qos or ()}
    mapped = (getattr(each, key) for each in site.virtual_clusters.values())
    return items(dict.fromkeys([*named[key], *filter(None, mapped)]), word)


partitions: Complete = partial(_of_site, "partition")
"""The partitions of the active site profile."""
accounts: Complete = partial(_of_site, "account")
"""The accounts of the active site profile."""
qos: Complete = partial(_of_site, "qos")
"""The QOS of the active site profile."""


def with_files(found: list[CompletionItem], word: str) -> list[CompletionItem]:
    """Add matching files, folders with a slash; without other words, let the shell complete files itself."""
    import glob

    if not found:
        return [CompletionItem(word, type="file")]
    names = sorted(glob.glob(f"{glob.escape(word)}*"))  # noqa: PTH207 - as typed, `./` included
    return found + items([f"{name}/" if os.path.isdir(name) else name for name in names], word)  # noqa: PTH112


def session_of(context: Context) -> Session:
    """Return the session of the command line, or a new one during completion."""
    from ...app.session import Session

    found = getattr(context.find_root().obj, "session", None)
    return found if isinstance(found, Session) else Session()


def _tasks(session: Session, job: str | None) -> list[str]:
    roles = session.tasks.roles(job)
    names = (f"{role}-{index}" for role, count in roles for index in range(min(count, MAX_TASKS)))
    return [*(role for role, _ in roles), *names]


def items(words: Iterable[str], word: str) -> list[CompletionItem]:
    """Return the words that begin with `word` as completion items."""
    return [CompletionItem(each) for each in words if each.startswith(word) and each.isprintable()]

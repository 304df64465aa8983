"""`paislurm remove`: the folders of jobs that have ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ....plural import counted
from ....terminal_text import one_line
from ....times import duration
from ...options import NearChoice, examples, json_option, pass_session
from ...output.console import is_terminal, log, print_json, print_result
from ...shell.candidates import JobOrGroup

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ....app.session import Session
    from ....errors import Diagnostic
    from ....monitor.poll import Opened
    from ....state.tidying.removal import RoomTaken

ENDS = ("SUCCEEDED", "FAILED", "STOPPED")


def _age(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    seconds = duration(value) if value is not None else None
    if value is not None and not seconds:
        raise click.BadParameter(f"`{value}` is no age: it is `30d`, `12h` or `1d12h`, of s, m, h, d and w")
    return seconds


@click.command(
    epilog=examples(
        "paislurm remove my-job",
        "paislurm remove my-job.1",
        "paislurm remove 'sweep-*' --state failed --yes",
        "paislurm remove --older-than 30d --dry-run",
    )
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())
@click.option("--older-than", metavar="AGE", callback=_age, help="Only jobs that ended so long ago, such as `30d`.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=NearChoice(ENDS),
    help="Only jobs that ended so; can be repeated.",
)
@click.option("--keep-logs", is_flag=True, help="Only working directories and code; records and logs stay.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_session
def command(
    session: Session,
    jobs: tuple[str, ...],
    older_than: int | None,
    states: tuple[str, ...],
    *,
    keep_logs: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Remove jobs that have ended, with all that they left in their folders. There is no way back.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern such as 'sweep-*'; name.1 is the job whose name
    was used again. Without JOB, --older-than or --state says which. A job that has not ended is refused: cancel it
    first.

    On a terminal it asks before it removes more than one job. Elsewhere --yes is needed where the jobs are not named
    one by one, but by a group, a pattern or an option.
    """
    from ....app.jobs.folders.removing import matching, named
    from ....app.jobs.selecting import is_pattern, named_groups
    from ....state.tidying.removal import finish_removals

    filtered = older_than is not None or bool(states)
    if not jobs and not filtered:
        raise click.UsageError("which jobs? Name them, or say --older-than AGE or --state STATE")
    groups = named_groups(session.store, jobs, user=session.user)
    found = matching(session, jobs, older_than, states) if filtered else named(session, jobs)
    if not dry_run:
        several = filtered or any(map(is_pattern, jobs)) or any(len(members) > 1 for members in groups.values())
        if not _is_sure(found, several=several, yes=yes):
            log("nothing was removed")
            return 1
        finish_removals(session.store.jobs)
    return _remove(session, found, groups, keep_logs=keep_logs, dry_run=dry_run, as_json=as_json)


def _is_sure(found: list[Opened], *, several: bool, yes: bool) -> bool:
    """Return whether the user wants these jobs removed; a usage error for several jobs without a terminal."""
    if yes or not found:
        return True
    if is_terminal(sys.stdin) and is_terminal(sys.stderr):
        if len(found) == 1:
            return True
        log("\n".join(one_line(job.folder.name) for job in found))
        return click.confirm(f"remove these {len(found)} jobs?", err=True)
    if several:
        raise click.UsageError(
            f"this removes {counted(len(found), 'job')}, and nobody can be asked: --yes does it, --dry-run shows them"
        )
    return True


def _remove(
    session: Session,
    found: list[Opened],
    groups: Mapping[str, Collection[str]],
    *,
    keep_logs: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove jobs and say so, of groups also what it came to.

    The exit code is that of the last error, and other jobs are removed all the same.
    """
    from ....app.jobs.folders.removing import JobSize, bulk_of, remove_job, total
    from ....errors import PaislurmError
    from ....state.publish import writing
    from ....state.tidying.removal import room_taken
    from ...output.console import log_diagnostics

    removed: list[dict[str, object]] = []
    sizes: list[JobSize] = []
    diagnostics: list[Diagnostic] = []
    status = 0
    verb = "would remove" if dry_run else "removed"
    for job in found:
        size = bulk_of(job.folder) if keep_logs else JobSize(job.folder.name, room_taken(str(job.folder.path)))
        left = ""
        try:
            if not dry_run:
                with writing(job.folder.path):
                    left = remove_job(session, job, keep_logs=keep_logs)
        except PaislurmError as error:
            diagnostics += error.diagnostics
            status = error.exit_code
            continue
        sizes.append(size)
        removed.append({**size.as_dict(), "left_behind": left or None})
        if not as_json:
            _say(verb, f"{size.name}{' but its records and logs' if keep_logs else ''}", size.room)
        if left:
            log(f"warning: {size.name}: {left}")
    for group, members in () if as_json else groups.items():
        done = [size for size in sizes if size.name in members]
        what = f"{counted(len(done), 'job')} of group {group}{' but their records and logs' if keep_logs else ''}"
        _say(verb, what, total(done))
    if as_json:
        told = [diagnostic.as_dict() for diagnostic in diagnostics]
        print_json({"removed": removed, "dry_run": dry_run, "diagnostics": told})
    elif not found:
        log("no such jobs")
    if not as_json:
        log_diagnostics(diagnostics)
    return status


def _say(verb: str, what: str, room: RoomTaken) -> None:
    from ....app.jobs.folders.removing import size_text

    print_result(one_line(f"{verb} {what} ({size_text(room.size)}, {counted(room.inodes, 'file')})"))

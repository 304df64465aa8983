"""`paislurm du`: disk usage of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option, pass_session
from ...output.console import log, print_json
from ...shell.candidates import JobOrGroup

if TYPE_CHECKING:
    from ....app.jobs.folders.disk_use import Room
    from ....app.session import Session


@click.command(epilog=examples("paislurm du", "paislurm du my-job", "paislurm du 'sweep-*'", "paislurm du --json"))
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, as_json: bool) -> int:
    """Show the disk usage of jobs and their number of files and folders; the largest job first.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern. Default: all of your jobs, including those
    whose name was used again. A group also gets a line with the total of its jobs.
    """
    from ....app.jobs.folders.disk_use import disk_use, size_text, total
    from ....app.jobs.selecting import named_groups
    from ....plural import counted
    from ....times import duration_text
    from ...output.tables import print_table

    found = disk_use(session, jobs)
    if as_json:
        print_json(found)
        return 0
    if not found.jobs:
        log(f"no jobs in {session.store.jobs}")
        return 0
    rooms: list[tuple[str, Room]] = [(job.name.removeprefix(f"{session.user}~"), job) for job in found.jobs]
    for group, members in named_groups(session.store, jobs, user=session.user).items():
        of_group = [job for job in found.jobs if job.name in members]
        rooms.append((f"group {group}, {counted(len(of_group), 'job')}", total(of_group)))
    rows = [(name, size_text(each.size_bytes), str(each.inodes)) for name, each in [*rooms, ("total", found.total)]]
    print_table(("job", "size", "files"), rows)
    if found.remove_after is None:
        log("`paislurm remove --older-than 30d` removes jobs that ended more than 30 days ago")
    else:
        log(f"the site removes jobs {duration_text(found.remove_after)} after their end")
    return 0

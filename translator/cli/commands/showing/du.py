"""`paislurm du`: how much room jobs take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...options import pass_session

if TYPE_CHECKING:
    from ....app.session import Session

import click

from ...options import examples, json_option
from ...output.console import log, print_json
from ...shell.candidates import JobOrGroup


@click.command(epilog=examples("paislurm du", "paislurm du my-job", "paislurm du 'sweep-*'", "paislurm du --json"))
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, as_json: bool) -> int:
    """Show how much room jobs take on the disk, and how many files and folders they are; the largest first.

    JOB is a job's name, user~name, its Slurm id, a group, or a pattern; without one it is all of your jobs, also those
    whose name was used again. A group has a line with the room of all its jobs.
    """
    from ....app.input.sites import find_site
    from ....app.jobs.folders.removing import room_dict, size_text, sizes, total
    from ....app.jobs.selecting import named_groups, select
    from ....plural import counted
    from ....times import duration_text
    from ...output.tables import print_table

    user = session.user
    own = [folder for folder in session.store.all() if folder.name.startswith(f"{user}~")]
    found = sizes(select(session.store, jobs, user=user) if jobs else own)
    room = total(found)
    remove_after = find_site(session, None).jobs.remove_after
    if as_json:
        everything = {"jobs": [job.as_dict() for job in found], "total": room_dict(room), "remove_after": remove_after}
        print_json(everything)
        return 0
    if not found:
        log(f"no jobs in {session.store.jobs}")
        return 0
    rooms = [(job.name.removeprefix(f"{user}~"), job.room) for job in found]
    for group, members in named_groups(session.store, jobs, user=user).items():
        of_group = [job for job in found if job.name in members]
        rooms.append((f"group {group}, {counted(len(of_group), 'job')}", total(of_group)))
    rows = [(name, size_text(each.size), str(each.inodes)) for name, each in [*rooms, ("total", room)]]
    print_table(("job", "size", "files"), rows)
    if remove_after is None:
        log("`paislurm remove --older-than 30d` removes jobs that ended so long ago")
    else:
        log(f"the site removes jobs {duration_text(remove_after)} after their end")
    return 0

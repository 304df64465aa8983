"""What `submit --sweep` prints: each job as it is submitted, and how to see the group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....app.submit.submit import taken_text
from ....app.submit.sweep.submit import submit_sweep
from ....plural import counted, verb
from ...output.console import log, print_json, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.input.source import Source
    from ....app.session import Session
    from ....app.submit.submit import Submitted
    from ....app.submit.sweep.submit import Sweep
    from ....state.records import Dependency


def sweep_command(
    session: Session,
    source: Source,
    words: Sequence[str],
    *,
    dry_run: bool,
    after: tuple[Dependency, ...],
    yes: bool,
    wait: bool,
    as_json: bool,
) -> int:
    """Submit a sweep and print it; with `wait` return 1 unless all its jobs have succeeded, those of before too."""

    def say(submitted: Submitted) -> None:
        if not as_json:
            print_result(taken_text(submitted))

    sweep = submit_sweep(session, source, words, dry_run=dry_run, after=after, yes=yes, say=say)
    if as_json and not (wait and not dry_run):
        print_json(sweep.as_dict() | {"dry_run": dry_run})
    if dry_run:
        for each in sweep.submitted if not as_json else ():
            print_result(f"{each.folder.name} would be submitted")
    if not as_json:
        _say_group(sweep, dry_run=dry_run)
    if dry_run:
        return 0
    return _wait(session, sweep, as_json=as_json) if wait else 0


def _say_group(sweep: Sweep, *, dry_run: bool) -> None:
    present, number = len(sweep.present), len(sweep.submitted)
    there = f", {present} {verb(present, 'was', 'were')} there already" if present else ""
    which = f"dry run: {counted(number, 'job')} would be" if dry_run else counted(number, "job")
    log(f"group {sweep.group}: {which} submitted{there}")
    if present or not dry_run:
        log(f"see them: paislurm list --group {sweep.group}")
    if sweep.present and not sweep.submitted:
        log("`--suffix TEXT` submits all of them again, under other names")


def _wait(session: Session, sweep: Sweep, *, as_json: bool) -> int:
    from ....app.jobs.failure import failure_of
    from ...output.exit_status import exit_code
    from ...output.views import end_dict
    from ...progress.ends import log_ends

    names = [*sweep.present, *(each.folder.name for each in sweep.submitted)]
    folders = [folder for folder in session.store.all() if folder.name in names]
    views = {view.folder.name: view for view in log_ends(session, folders, {sweep.group: names}, quiet=as_json)}
    if as_json:
        failures = {name: failure_of(session, view) for name, view in views.items()}
        ends = {
            name: end_dict(views[name]) | {"failure": failure.as_dict() if failure else None}
            for name, failure in failures.items()
        }
        jobs = [each.as_dict() | ends[each.folder.name] for each in sweep.submitted]
        print_json(sweep.as_dict() | {"dry_run": False, "jobs": jobs})
    return max(map(exit_code, views.values()), default=0)

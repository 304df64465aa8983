"""The output of `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted, verb
from ...terminal_text import escape_control
from ..output.console import log, print_json, print_result

if TYPE_CHECKING:
    from ...app.input.source import Source
    from ...app.session import Session
    from ...app.submit.submission import Submitted
    from ...app.submit.sweep import Sweep
    from ..submit_options import SubmitOptions


def print_submitted(submitted: Submitted, *, as_json: bool) -> None:
    """Print the submitted job; for a dry run, the plan."""
    if as_json:
        print_json(submitted.printed)
    elif submitted.job_id is None:
        print_result(escape_control(submitted.plan_text).rstrip("\n"))
        log(f"dry run: would create {submitted.folder.path} and submit its script to {submitted.backend}")
        log("`--test-only` shows when it would start")
    else:
        print_result(submitted.text)
        log(f"see: paislurm status {submitted.job}; paislurm logs -f {submitted.job}")


def sweep_command(session: Session, source: Source, options: SubmitOptions) -> int:
    """Submit a sweep and print it; with `wait`, return 1 unless all its jobs succeeded, including earlier ones."""
    dry_run, as_json, waits = options.dry_run, options.as_json, options.wait and not options.dry_run

    def say(submitted: Submitted) -> None:
        if not as_json:
            print_result(submitted.text)

    sweep = session.sweeps.submit(
        source,
        *options.sweep,
        after=options.after,
        failed=options.failed,
        at_once=options.at_once or 0,
        stop_after=options.stop_after or 0,
        dry_run=dry_run,
        many=options.yes,
        each=say,
    )
    if not as_json:
        for each in sweep.submitted if dry_run else ():
            print_result(f"{each.folder.name} would be submitted")
        _say_group(sweep, dry_run=dry_run)
    elif not waits:
        print_json(sweep.printed(dry_run=dry_run))
    return _wait(session, sweep, as_json=as_json) if waits else 0


def _say_group(sweep: Sweep, *, dry_run: bool) -> None:
    present, number = len(sweep.present), len(sweep.submitted)
    there = f", {present} {verb(present, 'was', 'were')} submitted before" if present else ""
    which = f"dry run: {counted(number, 'job')} would be" if dry_run else counted(number, "job")
    waits = sum(each.job_id == "" for each in sweep.submitted)
    here = f", {waits} of them {verb(waits, 'waits', 'wait')} here" if waits else ""
    log(f"group {sweep.group}: {which} submitted{here}{there}")
    if present or not dry_run:
        log(f"see: paislurm list --group {sweep.group}")
    if sweep.present and not sweep.submitted:
        log("to submit all of them again under other names, add `--suffix TEXT`; the failed ones alone, `--failed`")


def _wait(session: Session, sweep: Sweep, *, as_json: bool) -> int:
    from ..output.several import exit_code
    from .shown import log_ends

    folders = session.jobs.select(*sweep.names).folders
    jobs = {job.name: job for job in log_ends(session, folders, {sweep.group: sweep.names}, quiet=as_json)}
    if as_json:
        print_json(sweep.ended(jobs))
    return max(map(exit_code, jobs.values()), default=0)


def wait_for_submitted(session: Session, submitted: Submitted, *, follow: bool, as_json: bool) -> int:
    """Wait for the end of a submitted job, and return the exit code."""
    from ..output.several import exit_code, log_ending
    from .follow import print_as_it_comes
    from .shown import ShownProgress

    max_age = submitted.compiled.site.monitor.max_poll_interval
    folder = submitted.folder
    if follow:
        job = next(print_as_it_comes(session, [folder], max_age=max_age))
    else:
        [job] = session.jobs.show_ends(folder, max_age=max_age, quiet=as_json, progress=ShownProgress([folder]))
    if as_json:
        print_json(submitted.ended(job))
    log_ending(job)
    session.jobs.tidy(folder)
    return exit_code(job)

"""Options of `submit`. The command gets them as `SubmitOptions`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from ..errors import Diagnostic, UsageError
from .options import json_option
from .shell import candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app.input.source import JobFileOptions, Source
    from ..app.session import Session


class SubmitOptions(NamedTuple):
    """The options of `submit` that do not change the job file."""

    again: str | None
    backend: str | None
    host: str | None
    wait: bool
    follow: bool
    sweep: tuple[str, ...]
    failed: str | None
    at_once: int | None
    stop_after: int | None
    yes: bool
    after: tuple[str, ...]
    dry_run: bool
    test_only: bool
    as_json: bool

    def check(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.follow and self.as_json:
            raise click.UsageError("--follow cannot be used with --json: use --wait --json")
        if self.follow and self.sweep:
            raise click.UsageError("--follow cannot be used with --sweep: `paislurm list --group` shows a sweep")
        if self.failed is not None and not self.sweep:
            raise click.UsageError("--failed needs the --sweep whose failed jobs are submitted again")
        if self.at_once is not None and not self.sweep:
            raise click.UsageError("--at-once needs --sweep")
        if self.stop_after is not None and self.at_once is None:
            raise click.UsageError("--stop-after needs --at-once: without it, all jobs are submitted at once")
        if self.host is not None and self.backend not in (None, "slurm"):
            raise click.UsageError(f"--host cannot be used with --backend {self.backend}")
        if self.test_only and (self.sweep or self.wait or self.follow or self.dry_run):
            raise click.UsageError(
                "--test-only submits nothing and applies to one job: "
                "it cannot be used with --dry-run, --sweep, --wait or --follow"
            )

    def source(self, session: Session, file: Source) -> Source:
        """Return the job file to submit, or that of the job `again`; raise UsageError for neither or both."""
        if self.again is None:
            if not file.file:
                raise _refused("Missing argument 'FILE'.")
            return replace(file, backend=self.backend or "slurm", host=self.host)
        if file.file:
            raise _refused("FILE cannot be used with --again, which submits the job file of JOB")
        place: JobFileOptions = {} if self.backend is None else {"backend": self.backend}
        place["host"] = self.host
        return session.jobs.file_of(self.again, file, **place)


def _refused(message: str) -> UsageError:
    return UsageError(Diagnostic(code="E547", message=message))


MOST = 10_000
"""The most jobs of a sweep."""
_OPTIONS = (
    click.option(
        "--again",
        metavar="JOB",
        shell_complete=candidates.jobs,
        help="Instead of FILE: submit this job again with the same options.",
    ),
    click.option(
        "--backend", metavar="NAME", shell_complete=candidates.backends, help="slurm (default), pyslurm, auto or local."
    ),
    click.option("--host", metavar="HOST", help="Submit on this login node, by SSH: [USER@]HOST[:PORT]."),
    click.option("--wait", is_flag=True, help="Wait for the end; exit code 1 if the job did not succeed."),
    click.option("--follow", is_flag=True, help="Show the output of tasks until the end; exit code as with --wait."),
    click.option(
        "--sweep",
        "sweep",
        multiple=True,
        metavar="NAME=VALUES",
        shell_complete=candidates.assignments,
        help="Submit a job for each value of a parameter: 1,2,5 or 1..5 or 0..1..0.25. Repeat it for all combinations.",
    ),
    click.option(
        "--failed",
        is_flag=False,
        flag_value="any",
        metavar="[CAUSE]",
        shell_complete=candidates.causes,
        help="Submit the failed jobs of the sweep again; CAUSE is out-of-memory, timeout or an exit code above 0.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(1, MOST),
        metavar="N",
        help="Have at most N jobs of the sweep at Slurm; the monitor submits the others as jobs end.",
    ),
    click.option(
        "--stop-after",
        type=click.IntRange(1, MOST),
        metavar="N",
        help="With --at-once: submit no more jobs of the sweep after N failures with one exit code.",
    ),
    click.option("--yes", is_flag=True, help="Confirm a sweep of more than 100 jobs."),
    click.option(
        "--after",
        "after",
        multiple=True,
        metavar="JOB[:END]",
        shell_complete=candidates.jobs_and_groups,
        help="Start after JOB has succeeded, or with JOB:ended after any end; can be repeated.",
    ),
    click.option("--dry-run", is_flag=True, help="Show what would be submitted, and submit nothing."),
    click.option(
        "--test-only",
        is_flag=True,
        help="Show when Slurm would start the job and which GPUs are free, and submit nothing.",
    ),
)


def submit_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of `submit`; the command gets them as `options`."""

    @wraps(command)
    def with_options(*arguments: Any, **others: Any) -> int:
        options = SubmitOptions(**{name: others.pop(name) for name in SubmitOptions._fields})
        options.check()
        return command(*arguments, options=options, **others)

    decorated = json_option(with_options)
    for add in reversed(_OPTIONS):
        decorated = add(decorated)
    return decorated

"""The confirmation and the output of `remove`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ...plural import counted, size_text
from ...terminal_text import one_line
from .console import is_terminal, log, print_result

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...app.jobs.removing import Removed


def is_sure(names: Sequence[str], *, by_name: bool, yes: bool) -> bool:
    """Return whether the user confirms the removal; raise UsageError if confirmation needs a terminal."""
    if yes or not names:
        return True
    if is_terminal(sys.stdin) and is_terminal(sys.stderr):
        if len(names) == 1:
            return True
        log("\n".join(map(one_line, names)))
        return click.confirm(f"remove these {len(names)} jobs?", err=True)
    if not by_name:
        raise click.UsageError(
            f"cannot ask to confirm the removal of {counted(len(names), 'job')}: use --yes, or --dry-run to list them"
        )
    return True


class RemovalTexts:
    """Print removals, job by job and group by group."""

    def __init__(self, *, keep_logs: bool, dry_run: bool) -> None:
        self._verb = "would remove" if dry_run else "removed"
        self._but = " but {} records and logs" if keep_logs else ""

    def print(self, job: Removed) -> None:
        """Print that a job was removed, and log remaining files."""
        self._print(f"{job.name}{self._but.format('its')}", [job])
        self.log_left(job)

    def log_left(self, job: Removed) -> None:
        """Log files of a job that could not be removed yet."""
        if job.left_behind:
            log(f"warning: {job.name}: {job.left_behind}")

    def print_groups(self, removed: Sequence[Removed], groups: Mapping[str, Collection[str]]) -> None:
        """Print the removals of each group."""
        for group, members in groups.items():
            done = [job for job in removed if job.name in members]
            self._print(f"{counted(len(done), 'job')} of group {group}{self._but.format('their')}", done)

    def _print(self, what: str, jobs: Sequence[Removed]) -> None:
        size = size_text(sum(job.size_bytes for job in jobs))
        files = counted(sum(job.inodes for job in jobs), "file")
        print_result(one_line(f"{self._verb} {what} ({size}, {files})"))

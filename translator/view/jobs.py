"""How a job stands, for all who show it: the record, and its facts as text. Pure.

A new fact is a field here, filled in by `app/job_view.py`, and a line of `JobView.facts`. Fields without a value are
None.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from paislurm.backends.slurm.job_states import ALLOCATED

from ..plural import counted
from ..state.changes import change_text
from ..state.run_record import RunRecord
from ..times import elapsed_text, format_time
from .cost import JobCost
from .failure import JobFailure
from .line import JobLine
from .parts import AttemptView, JobChange, JobDependency, JobStall, RoleTasks
from .task import TaskView, Usage, WebPage
from .waits import Wait

SHOWN = 5
"""How many changes of a job are shown, from the last."""
MAX_VALUE, MAX_LINE = 40, 200
"""Most characters of a parameter, and of a line; `status --json` prints all."""


class JobView(JobLine, frozen=True, kw_only=True):
    """The state of a job and its tasks."""

    retry_limit: int = 0
    """The `jobRetryCount` of the job file, or the later value of `update --retries`."""
    failure: JobFailure | None = None
    """Why the job failed; between two attempts, why the last attempt did."""
    stall: JobStall | None = None
    """The stall of a running job, or with which it has ended; None if its tasks moved, or without a stall guard."""
    lost_nodes: tuple[str, ...] = ()
    """The nodes after whose loss all tasks of the running job started anew on spare nodes."""
    backend_state: str | None = None
    """The backend's state of the Slurm job."""
    backend_reason: str | None = None
    """The backend's reason why the Slurm job waits."""
    backend_reachable: bool = True
    """Whether the backend answered; if not, the states are the last known ones."""
    backend_error: str | None = None
    """Why the backend did not answer."""
    read_errors: tuple[str, ...] = ()
    """Errors in reading the job's files."""
    waits: tuple[Wait, ...] = ()
    """Why components wait."""
    dependencies: tuple[JobDependency, ...] = ()
    """The jobs that this one waits for."""
    attempts: tuple[AttemptView, ...] = ()
    """The attempts that were retried, in order."""
    changes: tuple[JobChange, ...] = ()
    """The changes by `update`, and by retries that request more, in order."""
    avoided_nodes: tuple[str, ...] = ()
    """The bad nodes that the last attempt avoids."""
    excluded_nodes: tuple[str, ...] = ()
    """The nodes that the next attempt would exclude."""
    roles: tuple[RoleTasks, ...] = ()
    """The task roles."""
    tasks: tuple[TaskView, ...] = ()
    """The tasks."""
    account: str | None = None
    """The account that is charged; None if Slurm has not shown the user's default."""
    qos: str | None = None
    """The QOS that the job file, the site profile, the shell or `update` requests; None without one."""
    replaced_options: Mapping[str, str] = field(default_factory=dict)
    """The requested `partition`, `account` and `time` that Slurm, or a rule of the site, has replaced."""
    backend_notes: str | None = None
    """What sbatch, or a rule of the site, printed beside the id of the last attempt."""
    job_gpus: int = 0
    """The GPUs of all tasks that run at the same time."""
    pages: tuple[WebPage, ...] = ()
    """The web pages of running tasks, as far as the job file declares them."""
    run: RunRecord | None = None
    """The run record; None for a job of an earlier version that did not write one."""
    cost: JobCost | None = None
    """The allocated time by its use; None without `--cost`."""
    usages: tuple[Usage, ...] | None = None
    """The use of running tasks, for each role that Slurm knows; None without `--usage`."""

    @property
    def is_between_attempts(self) -> bool:
        """Whether the last attempt has ended and another one is due."""
        return bool(self.attempts) and self.attempts[-1].attempt == self.attempt and not self.ended

    def facts(self, now: int) -> Iterator[tuple[str, str]]:
        """Yield the facts about the job as (name, text), "" or "-" for an unknown one; `now` is in seconds since 1970.

        Tasks, retries and the failure have tables and texts of their own.
        """
        last = self.attempts[-1] if self.is_between_attempts else None
        yield "job", self.name
        of_slurm = f" (Slurm: {self.backend_state})" if self.backend_state in ALLOCATED and not self.ended else ""
        if self.state == "WAITING" and self.backend_state == "RUNNING":
            of_slurm = " (starting)"
        yield "state", self.state_text + (" (between two attempts)" if last else of_slurm)
        yield "stalled", self._stall_text()
        yield "restarted", f"after the loss of {', '.join(self.lost_nodes)}" if self.lost_nodes else ""
        yield "reason", self.reason or ""
        yield "since", format_time(self.waits_began_at)
        yield "group", self.group or ""
        yield "sweep", " ".join(f"{name}={value}" for name, value in self.sweep.items())
        yield "advice", self.advice or ""
        if last and self.failure is None:
            yield "usually", last.meaning or ""
            yield "try", last.remedy or ""
        yield "attempt", str(self.attempt + 1)
        if self.retries or self.retry_limit:
            yield "retried", f"{counted(self.retries or 0, 'time')} (jobRetryCount is {self.retry_limit})"
        yield self.backend or "backend", self._backend_text()
        yield "virtual cluster", self.virtual_cluster or ""
        yield from self._option_facts()
        yield "QOS", self.qos or ""
        yield "GPUs", str(self.job_gpus or "")
        yield "note", self.backend_notes or ""
        if (earlier := len(self.changes) - SHOWN) > 0:
            yield "changed", f"{counted(earlier, 'earlier change')}: `paislurm status --json` lists them all"
        for change in self.changes[-SHOWN:]:
            yield "changed", f"{format_time(change.changed_at)}: {change_text(change.values)}"
        yield "submitted", format_time(self.submitted_at)
        yield "expected start", format_time(self.expected_start_at)
        yield "started", format_time(self.started_at)
        yield "ended", format_time(self.ended_at)
        yield "elapsed", elapsed_text(self.elapsed(now))
        yield "nodes", self.node_list or ""
        yield "avoids", ", ".join(self.avoided_nodes)
        yield "folder", self.folder
        if self.run is not None:
            yield from run_facts(self.run)

    def _option_facts(self) -> Iterator[tuple[str, str]]:
        """Yield the options as Slurm has them, with the requested ones that it has replaced."""
        limit = elapsed_text(self.time_limit)
        if limit == "-" and "time" in self.replaced_options:
            limit = "unlimited"
        for name, option, text in (
            ("partition", "partition", self.partition),
            ("account", "account", self.account),
            ("time limit", "time", limit),
        ):
            requested = self.replaced_options.get(option)
            yield name, f"{text} (requested: {requested})" if requested else text or ""

    def _stall_text(self) -> str:
        if self.stall is None:
            return ""
        until = f", found {format_time(self.stall.found_at)}, until the attempt ended" if self.ended else ""
        return f"{self.stall.reason}{until}; details in {self.stall.folder}"

    def _backend_text(self) -> str:
        if self.accepted is False:
            return "not submitted"
        if self.job_id is None:
            return "unknown whether the submission succeeded"
        if self.is_between_attempts:
            return f"job {self.job_id} has ended"
        age = " (last known)" if self.backend_error else ""
        why = f", {self.backend_reason}" if self.backend_reason not in (None, "None") else ""
        return f"job {self.job_id}" + (f", {self.backend_state}{age}{why}" if self.backend_state else "")


def run_facts(run: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield names and texts: the parameters (those of --set first), the command, its user and its place."""
    names = [*run.overrides, *(name for name in run.parameters if name not in run.overrides)]
    texts = (f"{name}={_cut(run.parameters.get(name, ''), MAX_VALUE)}" for name in names)
    yield "parameters", _cut(" ".join(texts), MAX_LINE)
    yield "command", _cut(shlex.join(("paislurm", *run.argv)), MAX_LINE) if run.argv else ""
    yield "from", f"{run.submitted_by}:{run.submit_folder}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


class Jobs(Struct, frozen=True, kw_only=True):
    """Several jobs."""

    jobs: tuple[JobView, ...]
    """The jobs, in the order of the arguments."""

"""A job folder to be looked at, and a backend that says what a test wants."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from paislurm.backends.base import Accepted, JobId, Observation, RunFolder, Submission
from paislurm.backends.runner import become
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError
from paislurm.translator.files.names import ENVIRONMENT
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.job_status import JobStatus
from paislurm.translator.monitor.poll import open_job
from paislurm.translator.monitor.reconcile import Dependencies, reconcile
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import (
    Created,
    Dependency,
    Ended,
    Intent,
    JobRole,
    Record,
    RetryPolicy,
    Submitted,
    dump,
)
from paislurm.translator.state.result import Result, parse_result
from paislurm.translator.state.submit_environment import as_bytes
from paislurm.translator.view.reasons import said
from paislurm.translator.view.task import task_views

NOW = 1_000_000
FOLDER = JobFolder(path=Path("/jobs/demo"))
ROLES = (JobRole(name="worker", folder="0-worker", instances=2),)
CREATED = Created(happened_at=NOW - 100, job="demo", user="alice", backend="slurm", roles=ROLES)
INTENT = Intent(happened_at=NOW - 100, attempt=0, tag="paislurm-1")
SUBMITTED = Submitted(
    happened_at=NOW - 99, attempt=0, job_id="7", job="demo", user="alice", backend="slurm", task_count=2
)
ENDED = Ended(
    happened_at=NOW - 9,
    attempt=0,
    state="FAILED",
    exit_code=255,
    reason="a task failed",
    backend_state="FAILED",
    started_at=NOW - 50,
    ended_at=NOW - 10,
    completed=2,
)
FAILED = {"outcome": "failed", "exit_code": 255, "behaviour": "unknown", "reason": "worker-0 failed"}
"""The result of a job that failed."""


def job_folder(jobs: Path, *records: Record, name: str = "alice~demo") -> JobFolder:
    """Make a job folder with these records in its journal, and the environment of the submit until the end."""
    folder = JobFolder(path=jobs / name)
    folder.attempt(0).mkdir(parents=True)
    folder.journal.write_bytes(b"".join(dump(record) for record in records))
    if not any(isinstance(record, Ended) for record in records):
        (folder.path / ENVIRONMENT).write_bytes(as_bytes({"HOME": "/home/alice"}))
    return folder


def job(path: Path, *records: Record, **policy: Any) -> JobFolder:
    """Make the folder of a job with a retry policy, which was submitted unless the records say more."""
    folder = job_folder(path, replace(CREATED, retry_policy=RetryPolicy(**policy)), INTENT, *(records or (SUBMITTED,)))
    folder.script(0).write_text("#!/bin/bash\n")
    return folder


def waiting_job(
    jobs: Path,
    *records: Record,
    name: str = "second",
    after: tuple[str, int] = ("first", CREATED.happened_at),
    until: Literal["succeeded", "ended"] = "succeeded",
    script: str = "#!/bin/bash\n",
) -> JobFolder:
    """Make the folder of a job that is submitted after another one; `after` are its name and the time of its record."""
    waits = Dependency(name=f"alice~{after[0]}", created_at=after[1], until=until)
    created = replace(CREATED, happened_at=NOW - 50, job=name, dependencies=(waits,), first_tag=f"paislurm-{name}@far")
    folder = job_folder(jobs, created, *records, name=f"alice~{name}")
    folder.script(0).write_text(script)
    return folder


def kinds(folder: JobFolder) -> list[str]:
    """Return what the monitor has added to the journal of such a job."""
    return [type(record).__name__ for record in read(folder.journal).records][3:]


def task(index: int, **changes: Any) -> dict[str, Any]:
    """Return a task as it stands in a result."""
    return {
        "role": "worker", "index": index, "task_attempt": 0, "state": "SUCCEEDED", "exit_status": 0, "exit_code": 0,
        "behaviour": "success", "node": "n1", "started_at": NOW - 50, "ended_at": NOW - 10,
    } | changes  # fmt: skip


def result(**changes: Any) -> dict[str, Any]:
    """Return a result of a job of two tasks that succeeded."""
    return {
        "version": 2, "job": "demo", "attempt": 0, "job_id": "7", "outcome": "succeeded", "exit_code": 0,
        "behaviour": "success", "reason": "all is well", "trigger": None, "started_at": NOW - 60,
        "ended_at": NOW - 10, "tasks": [task(0), task(1)],
    } | changes  # fmt: skip


def left(**changes: Any) -> Result:
    """Return a result as it is read."""
    return parse_result(json.dumps(result(**changes)).encode())


def failed(tasks: list[dict[str, Any]], code: int | None = 255, *, state: str = "FAILED", **changes: Any) -> View:
    """Return what is seen of a job that failed with these tasks; `changes` are those of its result."""
    counts = Counter(each["role"] for each in tasks)
    roles = tuple(JobRole(name=name, folder=f"{k}-{name}", instances=counts[name]) for k, name in enumerate(counts))
    result = left(outcome="failed", tasks=tasks, **({"exit_code": code} | changes))
    return View(
        folder=FOLDER,
        history=history([replace(CREATED, roles=roles), INTENT, SUBMITTED]),
        job_status=JobStatus(state=state, code=code, why=said(""), ended=True),  # type: ignore[arg-type]
        result=result,
        tasks=task_views(roles, result, {}, ended=True),
    )


def claim(folder: JobFolder, owner: str, time: int) -> None:
    """Let a job claim attempt 0 at a time."""
    path = folder.claim(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{owner} 0\n")
    os.utime(path, (time, time))


def leave_result(folder: JobFolder, **changes: Any) -> None:
    """Write a result into the folder of attempt 0."""
    folder.result(0).write_text(json.dumps(result(**changes)), encoding="utf-8")


def observed(state: str, *, final: bool = False, job_id: str = "7", **changes: Any) -> Observation:
    """Return an observation; `final` ones have ended half a minute ago."""
    values = {"raw_state": state, "status": 0 if final else None, "ended": NOW - 30 if final else None}
    return Observation(job_id=JobId(job_id), state=state, final=final, **(values | changes))


def ended(backend: FakeBackend, job_id: str = "7", state: str = "FAILED", **changes: Any) -> None:
    """Let a job end, as the backend sees it."""
    backend.observations[JobId(job_id)] = observed(state, final=True, job_id=job_id, **changes)


def stepped(
    folder: JobFolder,
    backend: FakeBackend,
    now: int,
    *,
    held: Callable[[], bool] = lambda: True,
    room_at: int = 0,
    ahead: int = 0,
) -> View:
    """Let the monitor take one step with a job."""
    means = dependencies(backend, lambda: now, holds_lock=held, room_at=lambda _: room_at, ahead=lambda _: ahead)
    return reconcile([open_job(folder)], means)[0]


def dependencies(backend: FakeBackend, clock: Callable[[], int], **others: Any) -> Dependencies:
    """Return what a step works with that has the lock."""
    own: dict[str, Any] = {"holds_lock": lambda: True, "owns": lambda _: True}
    return Dependencies(backend=lambda _: backend, clock=clock, **(own | others))


def failed_job(path: Path, **policy: Any) -> tuple[JobFolder, FakeBackend]:
    """Make the folder of a job that may be retried once unless the policy says else; its first attempt has failed."""
    folder, backend = job(path, **{"retry_limit": 1} | policy), FakeBackend()
    leave_result(folder, **FAILED)
    ended(backend)
    return folder, backend


class FakeBackend:
    """A backend that answers from memory. `fails` makes every request fail, in the way that it names."""

    name = "slurm"

    def __init__(self, *observations: Observation) -> None:
        self.observations = {observation.job_id: observation for observation in observations}
        self.submissions: list[Submission] = []
        self.cancelled: list[JobId] = []
        self.cancel_calls = 0
        self.cancelled_names: dict[JobId, str] = {}
        self.changed: list[tuple[JobId, dict[str, str]]] = []
        self.refuses_change = ""
        self.refused_options: tuple[str, ...] = ()
        self.forgotten: list[str] = []
        self.tags: dict[str, JobId] = {}
        self.queries = 0
        self.lost: dict[str, str] = {}
        self.absent: frozenset[str] = frozenset()
        self.node_queries = 0
        self.fails = ""
        self.slurm = ""
        self.asked = 0

    def version(self) -> str:
        """Tell the version, and count how often it is asked."""
        self.asked += 1
        self._fail()
        return self.slurm

    def submit(self, submission: Submission) -> Accepted:
        """Take the script."""
        self._fail()
        assert submission.script.is_file()
        if self.absent.intersection(submission.exclude):
            raise RejectedError(Diagnostic(code="E503", message="Invalid node name specified"))
        self.submissions.append(submission)
        job_id = JobId(str(100 + len(self.submissions)))
        self.tags[submission.tag] = job_id
        self.observations[job_id] = observed("PENDING", job_id=job_id, reason="Priority")
        return Accepted(job_id)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Answer for the jobs that are asked for, and no others."""
        self.queries += 1
        self._fail()
        return {job_id: self.observations[job_id] for job_id in ids if job_id in self.observations}

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Look tags up."""
        self._fail()
        return {tag: self.tags[tag] for tag in tags if tag in self.tags}

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:  # noqa: ARG002 - as in Backend
        """Bring nothing."""
        return False

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the folder."""
        return run_folder.folder

    def forget(self, run_folder: RunFolder) -> None:
        """Remember of which job nothing is needed any more."""
        self.forgotten.append(run_folder.tag)

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:  # noqa: ARG002 - as in Backend
        """Become the program."""
        return become(argv, {"JOB": job_id})

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Tell which nodes are lost, of those that are asked for."""
        self.node_queries += 1
        self._fail()
        return {node: self.lost[node] for node in nodes.split(",") if node in self.lost}

    def known_nodes(self, nodes: Collection[str], cluster: str = "") -> frozenset[str]:  # noqa: ARG002 - as in Backend
        """Know all nodes but those that do not exist."""
        self.node_queries += 1
        if self.fails != "refuses":
            self._fail()
        return frozenset(nodes) - self.absent

    def change(self, job_id: JobId, values: Mapping[str, str]) -> None:
        """Remember what was changed of a job, or refuse it, or some options of it."""
        self._fail()
        refused = tuple(name for name in values if name in self.refused_options)
        taken = {name: value for name, value in values.items() if name not in refused}
        if self.refuses_change:
            raise RejectedError(Diagnostic(code="E621", message=self.refuses_change))
        if taken:
            self.changed.append((job_id, taken))
        if refused:
            raise RejectedError(Diagnostic(code="E621", message=f"no {' and '.join(refused)}"), options=refused)

    def cancel(self, *job_ids: JobId, names: Mapping[JobId, str] | None = None) -> None:
        """Remember what was cancelled, with what names, and by how many calls."""
        self._fail()
        self.cancelled_names |= names or {}
        self.cancel_calls += 1
        self.cancelled += job_ids

    def _fail(self) -> None:
        if self.fails == "away":
            raise UnreachableError(Diagnostic(code="E502", message="Slurm does not respond: timed out"))
        if self.fails == "missing":
            raise UnreachableError(Diagnostic(code="E501", message="`sbatch` is not on PATH"))
        if self.fails == "refuses":
            raise RejectedError(Diagnostic(code="E503", message="sbatch refuses --qos: no such qos", hint="ask"))

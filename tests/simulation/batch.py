"""A Slurm job from its submit to its end, with a model of the batch script.

The model of the script knows of `batch/folder.sh` the claim, and of `batch/result.sh` the result.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from paislurm.backends.slurm.commands import cluster_of_tag
from paislurm.backends.slurm.output import Row, job_id_at

if TYPE_CHECKING:
    from pathlib import Path

    from paislurm.backends.base import Submission

    from .files import Server
    from .witness import Witness
    from .world import World

NO_RESULT, DUPLICATE, UNSEEN, REQUEUED, REFUSED = 7, 5, 6, 3, 4
"""Exit statuses of the batch script."""
ENDS = (
    "succeeded", "failed", "transient", "node lost", "cancelled by root", "requeued", "time limit", "prolog failed",
    "requeued and held",
)  # fmt: skip
"""What may become of a job that gets a node."""
MIN_JOB_AGE = 300
"""Seconds after its end for which the controller knows a job. Source: slurm.conf(5), MinJobAge."""
NODE = "n1"


class Job:
    """A job of Slurm. `states` are its states, each with the time from which it holds."""

    def __init__(self, number: int, submission: Submission, asked: float, now: float) -> None:
        self.id = job_id_at(str(number), cluster_of_tag(submission.tag))
        self.submission = submission
        self.status: int | None = None
        self.submitted = now
        self.asked = asked
        self.started: float | None = None
        self.ended: float | None = None
        self.accounted = now
        self.cancelled = False
        self.restarts = 0
        self.states = [(now, "PENDING")]

    def becomes(self, state: str, now: float) -> None:
        """Note a state."""
        self.states.append((now, state))

    def in_queue(self, now: float) -> Row | None:
        """Return the row of squeue at a time, None if the controller does not know the job then."""
        if now < self.submitted or (self.ended is not None and now - self.ended > MIN_JOB_AGE):
            return None
        return self._row(now)

    def in_accounts(self, now: float) -> Row:
        """Return the row of sacct. Until the accounts have the end, they show what was before it."""
        if self.ended is not None and now < self.accounted:
            return self._row(self.ended - 0.001)
        return self._row(now)

    def _row(self, now: float) -> Row:
        state = [state for since, state in self.states if since <= now or since == self.submitted][-1]
        over = self.ended is not None and now >= self.ended
        started = self.started if self.started is not None and self.started <= now else None
        return Row(
            leader=self.id,
            offset=None,
            state=state,
            raw_state=state + (" by 0" if over and state == "CANCELLED" and not self.cancelled else ""),
            status=self.status if over else None,
            nodes=NODE if started is not None else "",
            submitted=int(self.submitted),
            started=None if started is None else int(started),
            ended=int(self.ended) if over and self.ended is not None else None,
        )


class Cluster(Protocol):
    """What a job knows of its cluster."""

    usual_end: str
    lag: float
    drained: dict[str, str]
    ran: list[tuple[Job, str]]
    ran_after_end: str


class Batch:
    """The life of a job on the nodes of a cluster."""

    def __init__(self, job: Job, cluster: Cluster, world: World, server: Server, witness: Witness) -> None:
        self._job = job
        self._cluster = cluster
        self._world = world
        self._server = server
        self._witness = witness
        self._attempt = job.submission.folder / "attempts" / str(job.submission.attempt)

    def lives(self) -> None:
        """Wait, run, and end."""
        world, job = self._world, self._job
        if not self._waits(job.submission.delay + (1, 20, 200)[world.choices.choose(3)]):
            self.ends("CANCELLED", 0)
            return
        how = ENDS[world.choices.choose(len(ENDS))]
        if self._cluster.usual_end and not world.choices.choose(2):
            how = self._cluster.usual_end
        job.started = world.now
        if how == "prolog failed":
            # With --no-requeue, slurmd cancels the job as root; the node drains. Source: observed on 22.05.
            self._cluster.drained[NODE] = "Prolog error"
            self.ends("CANCELLED", 0)
            return
        job.becomes("RUNNING", world.now)
        while (end := self._script(how)) is None:
            job.restarts += 1
            job.becomes("PENDING" if how == "requeued" else "REQUEUE_HOLD", world.now)
            if not self._waits(1 if how == "requeued" else 100):
                end = ("CANCELLED", 0)
                break
            job.becomes("RUNNING", world.now)
        self.ends(*end)

    def _waits(self, seconds: float) -> bool:
        """Return whether the job gets nodes: it was not cancelled meanwhile."""
        world = self._world
        until = world.now + seconds
        while world.now < until and not self._job.cancelled:
            world.sleep(min(5, until - world.now))
        return not self._job.cancelled

    def ends(self, state: str, status: int) -> None:
        """End the job. The accounts have its end some seconds later."""
        world, job = self._world, self._job
        job.status, job.ended = status, world.now
        job.becomes(state, world.now)
        job.accounted = world.now + self._cluster.lag + (0, 3, 40)[world.choices.choose(3)]
        world.tell(f"job {job.id} ends: {state}, status {status}")

    def _script(self, how: str) -> tuple[str, int] | None:
        """Run the script once; return the state and status of the job, None for a requeue."""
        world, job, attempt, submission = self._world, self._job, self._attempt, self._job.submission
        try:
            list(submission.folder.parent.iterdir())
            (attempt / "job.sbatch").stat()
        except OSError:
            return "FAILED", UNSEEN
        owner = f"{job.id} {job.restarts}"
        try:
            with suppress(FileExistsError):
                (attempt / "claim").mkdir()
            os.close(os.open(attempt / "claim" / "owner", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            (attempt / "claim" / "owner").write_bytes(f"{owner}\n".encode())
        except FileExistsError:
            return self._claimed()
        except OSError:
            return "FAILED", REFUSED
        self._cluster.ran.append((job, submission.tag))
        self._witness.runs(job.id, submission.folder)
        journal = self._server.find(str(submission.folder / "journal.jsonl"))
        if journal is not None and b'"kind": "ended"' in journal.data:
            self._cluster.ran_after_end = str(job.id)
        world.tell(f"job {job.id} runs attempt {submission.attempt}")
        world.sleep((5, 60, 600)[world.choices.choose(3)])
        if job.cancelled:
            self._result("interrupted", -1, "unknown")
            return "CANCELLED", 0
        return self._become(how)

    def _become(self, how: str) -> tuple[str, int] | None:
        if how.startswith("requeued"):
            return None
        if how == "node lost":
            self._cluster.drained[NODE] = "Not responding"
            return "NODE_FAIL", 0
        if how in ("cancelled by root", "time limit"):
            self._result("interrupted", -1, "unknown")
            return ("CANCELLED" if how == "cancelled by root" else "TIMEOUT"), 0
        if how == "succeeded":
            return ("COMPLETED", 0) if self._result("succeeded", 0, "success") else ("FAILED", NO_RESULT)
        behaviour, code = ("transient", -120) if how == "transient" else ("unknown", 255)
        return ("FAILED", 1) if self._result("failed", code, behaviour) else ("FAILED", NO_RESULT)

    def _claimed(self) -> tuple[str, int]:
        job = self._job
        try:
            text = (self._attempt / "claim" / "owner").read_bytes().decode()
        except OSError:
            text = ""
        owner, _, restarts = text.strip().partition(" ")
        if owner == job.id and restarts != str(job.restarts):
            self._result("requeued", -100, "transient")
            return "FAILED", REQUEUED
        self._world.tell(f"job {job.id} is a duplicate of job {owner or 'unknown'}")
        return "FAILED", DUPLICATE

    def _result(self, outcome: str, code: int, behaviour: str) -> bool:
        job, now = self._job, int(self._world.now)
        document = {
            "version": 2, "job": job.submission.job, "attempt": job.submission.attempt, "job_id": job.id,
            "outcome": outcome, "exit_code": code, "behaviour": behaviour, "reason": f"it {outcome}", "trigger": None,
            "started_at": int(job.started or now), "ended_at": now, "tasks": [],
        }  # fmt: skip
        new: Path = self._attempt / ".result"
        try:
            new.write_bytes(json.dumps(document).encode())
            new.replace(self._attempt / "result.json")
        except OSError:
            return False
        return True

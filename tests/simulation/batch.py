"""A Slurm job from its submit to its end."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol

from paislurm.backends.slurm.commands import cluster_of_tag
from paislurm.backends.slurm.output import Row, job_id_at

from .script import Script

if TYPE_CHECKING:
    from paislurm.backends.base import Submission

    from .files import Server
    from .witness import Witness
    from .world import World

ENDS = (
    "succeeded", "failed", "transient", "node lost", "cancelled by root", "requeued", "time limit", "prolog failed",
    "requeued and held",
)  # fmt: skip
"""What may become of a job that gets a node."""
MIN_JOB_AGE = 300
"""Seconds after its end for which the controller knows a job. Source: slurm.conf(5), MinJobAge."""
LOSSES = (inf, 70.0, 640.0, 700.0, 3000.0)
"""Seconds for which the controller does not know a job after a crash: about the program's patience, or for ever."""
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
        self.cancelled = self.cancel_asked = False
        self.lost: tuple[float, float] | None = None
        """From when to when the controller does not know it, because it has crashed."""
        self.restarts = 0
        self.states = [(now, "PENDING")]

    def becomes(self, state: str, now: float) -> None:
        """Note a state."""
        self.states.append((now, state))

    def is_lost(self, now: float) -> bool:
        """Return whether neither the controller nor the accounts know the job at a time."""
        return self.lost is not None and self.lost[0] <= now < self.lost[1]

    def in_queue(self, now: float) -> Row | None:
        """Return the row of squeue at a time, None if the controller does not know the job then."""
        if self.is_lost(now) or now < self.submitted or (self.ended is not None and now - self.ended > MIN_JOB_AGE):
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
            name=self.submission.job,
            comment=self.submission.tag,
        )


class Cluster(Protocol):
    """What a job knows of its cluster."""

    usual_end: str
    loses_jobs: bool
    drained: dict[str, str]
    ran: list[tuple[Job, str]]
    ran_after_end: str

    @property
    def lag(self) -> float:
        """Seconds by which the accounts are late."""


class Batch:
    """The life of a job on the nodes of a cluster."""

    def __init__(self, job: Job, cluster: Cluster, world: World, server: Server, witness: Witness) -> None:
        self._job = job
        self._cluster = cluster
        self._world = world
        self._server = server
        self._witness = witness

    def lives(self) -> None:
        """Wait, run, and end."""
        world, job = self._world, self._job
        if self._cluster.loses_jobs and world.choices.choose(3) == 1:
            # A controller that is killed forgets its latest jobs; an administrator may bring its files back.
            world.sleep(world.choices.choose(2))
            seconds = LOSSES[world.choices.choose(len(LOSSES))]
            job.lost = (world.now, world.now + seconds)
            world.tell(f"Slurm loses job {job.id} for {seconds} s")
            if seconds == inf:
                return
            world.sleep(seconds)
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
        script = Script(job, world, self._tasks)
        while (end := script.run(how)) is None:
            job.restarts += 1
            job.becomes("PENDING" if how == "requeued" else "REQUEUE_HOLD", world.now)
            if not self._waits(1 if how == "requeued" else 100):
                end = ("CANCELLED", 0)
                break
            job.becomes("RUNNING", world.now)
        if how == "node lost":
            self._cluster.drained[NODE] = "Not responding"
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

    def _tasks(self) -> None:
        """Run the tasks."""
        world, submission = self._world, self._job.submission
        self._cluster.ran.append((self._job, submission.tag))
        self._witness.runs(self._job.id, submission.tag, submission.folder)
        journal = self._server.find(str(submission.folder / "journal.jsonl"))
        if journal is not None and b'"kind": "ended"' in journal.data:
            self._cluster.ran_after_end = str(self._job.id)
        world.tell(f"job {self._job.id} runs attempt {submission.attempt}")
        world.sleep((5, 60, 600)[world.choices.choose(3)])

"""A Slurm that takes jobs, runs a model of the batch script, answers late, wrongly told, or not at all.

The model of the script knows of `batch/folder.sh` the claim, and of `batch/result.sh` the result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId, Observation, SharedFolders
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from paislurm.backends.base import Options, RunFolder, Submission

    from .files import Server
    from .moments import Moments
    from .witness import Witness
    from .world import World

DUPLICATE, UNSEEN, REQUEUED = 5, 6, 3
"""Exit statuses of the batch script."""
ENDS = ("succeeded", "failed", "transient", "node lost", "cancelled by root", "requeued", "time limit")
"""What may become of a job that has started."""
MIN_JOB_AGE = 300
"""Seconds after its end for which the controller knows a job. Source: slurm.conf(5), MinJobAge."""


def _whole(time: float | None) -> int | None:
    return None if time is None else int(time)


class Job:
    """A job of Slurm."""

    def __init__(self, number: int, submission: Submission, now: float) -> None:
        self.id = JobId(str(number))
        self.submission = submission
        self.state = "PENDING"
        self.status: int | None = None
        self.submitted = now
        self.asked = now
        self.started: float | None = None
        self.ended: float | None = None
        self.accounted: float | None = None
        self.cancelled = False
        self.restarts = 0


class Slurm(SharedFolders):
    """The controller and the database, as one. `ran` has each job that ran an attempt, and the attempt's tag."""

    name = "slurm"

    def __init__(self, world: World, server: Server, witness: Witness, moments: Moments) -> None:
        self._world = world
        self._server = server
        self._witness = witness
        self._moments = moments
        self.usual_end = ""
        """How every second job ends, "" for any way."""
        self.ran_after_end = ""
        self.jobs: dict[JobId, Job] = {}
        self.ran: list[tuple[Job, str]] = []
        self.answers = 0

    # As the backend

    def version(self) -> str:
        return "24.11.5"

    def submit(self, submission: Submission) -> JobId:
        """Take a script. sbatch goes on when its caller is killed: the job may come up to 110 s later."""
        world = self._world
        self._moments.at("before sbatch")
        world.step(f"sbatch attempt {submission.attempt} of {submission.folder.name}")
        self._witness.asks(submission)
        fault = world.fault(4, 0.05)
        if fault == 1:
            world.tell("Slurm refuses the job")
            self._witness.refuses(submission.tag)
            raise RejectedError(Diagnostic(code="E503", message="limit"), argv=("sbatch",), status=1)
        if fault == 2:
            world.tell("Slurm does not answer, and has not got the job")
            raise self._unreachable()
        box: list[JobId] = []
        asked = world.now
        late = (0, 0, 0, 20, 110)[fault] if fault else 0

        def take() -> None:
            if late:
                world.sleep(late)
            box.append(self._take(submission, asked))

        world.spawn("sbatch", "login", take)
        world.sleep(0.05 if fault != 4 else 120)
        if fault in (3, 4):
            world.tell("Slurm takes the job, and its answer is lost")
            raise self._unreachable()
        while not box:
            world.sleep(0.05)
        world.step(f"answer of sbatch: job {box[0]}")
        self._moments.at("after sbatch")
        self._witness.accepts(box[0])
        return box[0]

    def _take(self, submission: Submission, asked: float) -> JobId:
        job = Job(101 + len(self.jobs), submission, self._world.now)
        job.asked = asked
        self.jobs[job.id] = job
        self._world.tell(f"job {job.id} is attempt {submission.attempt} of {submission.folder.name}")
        process = self._world.spawn(f"job {job.id}", "node", lambda: self._live(job))
        process.when_killed = lambda: self._end(job, "NODE_FAIL", 0)
        return job.id

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        self._ask(f"squeue and sacct of {', '.join(sorted(ids))}")
        found = {job_id: seen for job_id in ids if (seen := self._seen(self.jobs.get(job_id))) is not None}
        self._moments.at("after poll")
        return found

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        self._ask(f"search of {', '.join(sorted(tags))}")
        found: dict[str, JobId] = {}
        for job in self.jobs.values():
            if job.submission.tag in tags:
                found[job.submission.tag] = job.id
        self._moments.at("after search")
        self._witness.finds({*found})
        return found

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        self._ask(f"sinfo of {nodes}")
        return {}

    def cancel(self, *job_ids: JobId) -> None:
        self._moments.at("before scancel")
        self._ask(f"scancel {' '.join(job_ids)}")
        for job_id in job_ids:
            job = self.jobs.get(job_id)
            if job is not None and job.ended is None:
                job.cancelled = True
        self._world.step("answer of scancel")
        self._moments.at("after scancel")

    def options(self, ids: Collection[JobId]) -> Mapping[JobId, Options]:
        return dict.fromkeys(ids, ())

    def change(self, job_id: JobId, values: Mapping[str, str], before: Options = ()) -> None:  # noqa: ARG002 - as there
        self._ask(f"scontrol update {job_id}")

    def forget(self, run_folder: RunFolder) -> None:
        pass

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        raise NotImplementedError

    def _unreachable(self) -> UnreachableError:
        return UnreachableError(Diagnostic(code="E502", message="no answer"), argv=("slurm",), status=1)

    def _ask(self, what: str) -> None:
        self._world.step(what)
        self.answers += 1
        if self._world.fault(1, 0.02):
            self._world.tell("Slurm does not answer")
            raise self._unreachable()

    def _seen(self, job: Job | None) -> Observation | None:
        if job is None:
            return None
        now = self._world.now
        final = job.accounted is not None and job.accounted <= now
        if not final and job.ended is not None and now - job.ended > MIN_JOB_AGE:
            return None
        canceller = " by 0" if job.state == "CANCELLED" and not job.cancelled else ""
        return Observation(
            job_id=job.id, state=job.state, raw_state=job.state + canceller, final=final,
            status=job.status if final else None, nodes="n1" if job.started else "", submitted=int(job.submitted),
            started=_whole(job.started), ended=_whole(job.ended),
        )  # fmt: skip

    # As the nodes

    def _live(self, job: Job) -> None:
        world = self._world
        waits = job.submission.delay + (1, 20, 200)[world.choices.choose(3)]
        until = world.now + waits
        while world.now < until and not job.cancelled:
            world.sleep(min(5, until - world.now))
        if job.cancelled:
            self._end(job, "CANCELLED", 0)
            return
        job.started, job.state = world.now, "RUNNING"
        how = ENDS[world.choices.choose(len(ENDS))]
        if self.usual_end and world.choices.choose(2):
            how = self.usual_end
        while (state := self._script(job, how)) is None:
            job.restarts += 1
        self._end(job, *state)

    def _end(self, job: Job, state: str, status: int) -> None:
        world = self._world
        job.state, job.status, job.ended = state, status, world.now
        job.accounted = world.now + (0, 3, 40)[world.choices.choose(3)]
        world.tell(f"job {job.id} ends: {state}, status {status}")

    def _script(self, job: Job, how: str) -> tuple[str, int] | None:
        """Run the script once; return the state and status of the job, None for a requeue."""
        world, submission = self._world, job.submission
        attempt = submission.folder / "attempts" / str(submission.attempt)
        try:
            list(submission.folder.parent.iterdir())
            (attempt / "job.sbatch").stat()
        except OSError:
            return "FAILED", UNSEEN
        owner = f"{job.id} {job.restarts}"
        try:
            (attempt / "claim").mkdir()
        except FileExistsError:
            return self._claimed(job, attempt)
        except OSError:
            return "FAILED", 4
        try:
            (attempt / "claim" / "owner").write_bytes(f"{owner}\n".encode())
        except OSError:
            return "FAILED", 4
        self.ran.append((job, submission.tag))
        self._witness.runs(job.id, submission.folder)
        journal = self._server.find(str(submission.folder / "journal.jsonl"))
        if journal is not None and b'"kind": "ended"' in journal.data:
            self.ran_after_end = str(job.id)
        world.tell(f"job {job.id} runs attempt {submission.attempt}")
        world.sleep((5, 60, 600)[world.choices.choose(3)])
        if job.cancelled:
            self._result(attempt, job, "interrupted", -1, "unknown")
            return "CANCELLED", 0
        return self._become(job, attempt, how)

    def _become(self, job: Job, attempt: Path, how: str) -> tuple[str, int] | None:
        if how == "requeued":
            return None
        if how == "node lost":
            return "NODE_FAIL", 0
        if how == "cancelled by root":
            self._result(attempt, job, "interrupted", -1, "unknown")
            return "CANCELLED", 0
        if how == "time limit":
            self._result(attempt, job, "interrupted", -1, "unknown")
            return "TIMEOUT", 0
        if how == "succeeded":
            written = self._result(attempt, job, "succeeded", 0, "success")
            return ("COMPLETED", 0) if written else ("FAILED", 7)
        behaviour, code = ("transient", -120) if how == "transient" else ("unknown", 255)
        return ("FAILED", 1) if self._result(attempt, job, "failed", code, behaviour) else ("FAILED", 7)

    def _claimed(self, job: Job, attempt: Path) -> tuple[str, int]:
        try:
            owner, _, restarts = (attempt / "claim" / "owner").read_bytes().decode().strip().partition(" ")
        except OSError:
            owner = restarts = ""
        if owner == job.id and restarts != str(job.restarts):
            self._result(attempt, job, "requeued", -100, "transient")
            return "FAILED", REQUEUED
        self._world.tell(f"job {job.id} is a duplicate of job {owner or 'unknown'}")
        return "FAILED", DUPLICATE

    def _result(self, attempt: Path, job: Job, outcome: str, code: int, behaviour: str) -> bool:
        now = int(self._world.now)
        document = {
            "version": 2, "job": job.submission.job, "attempt": job.submission.attempt, "job_id": job.id,
            "outcome": outcome, "exit_code": code, "behaviour": behaviour, "reason": f"it {outcome}", "trigger": None,
            "started_at": int(job.started or now), "ended_at": now, "tasks": [],
        }  # fmt: skip
        try:
            (attempt / ".result").write_bytes(json.dumps(document).encode())
            (attempt / ".result").replace(attempt / "result.json")
        except OSError:
            return False
        return True

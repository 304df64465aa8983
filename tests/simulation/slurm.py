"""A Slurm of two clusters that takes jobs, and answers late, with old data, wrongly, or not at all.

Both clusters number their jobs alike. How rows of squeue and sacct become observations is the program's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import Accepted, JobId, Observation, SharedFolders
from paislurm.backends.slurm.commands import cluster_of, cluster_of_tag
from paislurm.backends.slurm.job_states import observed
from paislurm.backends.slurm.refusal_table import LIMIT_REACHED
from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError

from .batch import Batch, Job

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from paislurm.backends.base import RunFolder, Submission
    from paislurm.backends.slurm.output import Row

    from .files import Server
    from .moments import Moments
    from .witness import Witness
    from .world import World

FIRST_NUMBER = 101


class Weather(Struct):
    """Troubles of a Slurm.

    Until `limit_until` sbatch refuses (QOSMaxSubmitJobPerUserLimit). The accounts `lag` by seconds. squeue and sacct
    answer with data that are `age` seconds old.
    """

    limit_until: float = 0.0
    lag: float = 0.0
    age: float = 0.0


class Slurm(SharedFolders):
    """The controllers and the database. `ran` has each job that ran an attempt, and the attempt's tag."""

    name = "slurm"
    batch = Batch
    """How its jobs live."""

    def __init__(self, world: World, server: Server, witness: Witness, moments: Moments) -> None:
        self._world = world
        self._server = server
        self._witness = witness
        self._moments = moments
        self.weather = Weather()
        self.usual_end = ""
        """How every second job ends, "" for any way."""
        self.loses_jobs = False
        """Whether its controllers forget jobs that wait."""
        self.drained: dict[str, str] = {}
        self.ran_after_end = ""
        self.jobs: dict[JobId, Job] = {}
        self.ran: list[tuple[Job, str]] = []
        self._last: dict[str, int] = {}

    @property
    def lag(self) -> float:
        """Seconds by which the accounts are late."""
        return self.weather.lag

    def version(self) -> str:
        return "24.11.5"

    def submit(self, submission: Submission) -> Accepted:
        """Take a script. sbatch goes on when its caller is killed: the job may come up to 110 s later."""
        world = self._world
        self._moments.at("before sbatch")
        world.step(f"sbatch attempt {submission.attempt} of {submission.folder.name}")
        self._witness.asks(submission)
        fault = world.fault(4, 0.05)
        if fault == 1 or world.now < self.weather.limit_until:
            world.tell("Slurm refuses the job")
            self._witness.refuses(submission.tag)
            code = "E503" if fault else LIMIT_REACHED
            raise RejectedError(Diagnostic(code=code, message="limit"), argv=("sbatch",), status=1)
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
        return Accepted(box[0])

    def _take(self, submission: Submission, asked: float) -> JobId:
        cluster = cluster_of_tag(submission.tag)
        number = self._last[cluster] = self._last.get(cluster, FIRST_NUMBER - 1) + 1
        job = Job(number, submission, asked, self._world.now)
        self.jobs[job.id] = job
        self._witness.takes_job(submission, [each.submission for each in self.jobs.values() if each.ended is None])
        self._world.tell(f"job {job.id} is attempt {submission.attempt} of {submission.folder.name}")
        batch = self.batch(job, self, self._world, self._server, self._witness)
        process = self._world.spawn(f"job {job.id}", "node", batch.lives)
        process.when_killed = lambda: batch.ends("NODE_FAIL", 0)
        return job.id

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        self._ask(f"squeue and sacct of {', '.join(sorted(ids))}")
        found: dict[JobId, Observation] = {}
        for cluster in sorted({cluster_of(job_id) for job_id in ids}):
            wanted = [job_id for job_id in ids if cluster_of(job_id) == cluster]
            found |= observed(wanted, self._queue, self._accounts, lambda _: 1, lambda _, seen: seen)  # type: ignore[arg-type,return-value]
        self._moments.at("after poll")
        return found

    def _queue(self, ids: Sequence[JobId]) -> list[Row]:
        now = self._world.now - self.weather.age
        rows = (self.jobs[job_id].in_queue(now) for job_id in ids if job_id in self.jobs)
        return [row for row in rows if row is not None]

    def _accounts(self, ids: Sequence[JobId], _: bool) -> list[Row]:
        now = self._world.now - self.weather.age
        return [self.jobs[job_id].in_accounts(now) for job_id in ids if self._is_known(job_id, now)]

    def _is_known(self, job_id: JobId, now: float) -> bool:
        job = self.jobs.get(job_id)
        return job is not None and not job.is_lost(now) and job.submitted + self.lag <= now

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        self._ask(f"search of {', '.join(sorted(tags))}")
        now = self._world.now - self.weather.age
        found: dict[str, JobId] = {}
        for job in self.jobs.values():
            if job.submission.tag in tags and (job.in_queue(now) is not None or self._is_known(job.id, now)):
                found[job.submission.tag] = job.id
        self._moments.at("after search")
        self._witness.finds({*found})
        return found

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        self._ask(f"sinfo of {nodes}")
        return {node: why for node, why in self.drained.items() if node == nodes}

    def known_nodes(self, nodes: Collection[str], cluster: str = "") -> frozenset[str]:  # noqa: ARG002 - as there
        self._ask(f"sinfo of {', '.join(nodes)}")
        return frozenset(nodes)

    def cancel(self, *job_ids: JobId, names: Mapping[JobId, str] | None = None) -> None:  # noqa: ARG002 - as there
        self._moments.at("before scancel")
        jobs = [job for job_id in job_ids if (job := self.jobs.get(job_id)) is not None]
        for job in jobs:
            job.cancel_asked = True
        self._ask(f"scancel {' '.join(job_ids)}")
        if any(job.is_lost(self._world.now) for job in jobs):
            raise RejectedError(Diagnostic(code="E503", message="Invalid job id"), argv=("scancel",), status=1)
        for job in jobs:
            if job.ended is None:
                job.cancelled = True
        self._world.step("answer of scancel")
        self._moments.at("after scancel")

    def change(self, job_id: JobId, values: Mapping[str, str]) -> None:  # noqa: ARG002 - as there
        self._ask(f"scontrol update {job_id}")

    def forget(self, run_folder: RunFolder) -> None:
        pass

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        raise NotImplementedError

    def _unreachable(self) -> UnreachableError:
        return UnreachableError(Diagnostic(code="E502", message="no answer"), argv=("slurm",), status=1)

    def _ask(self, what: str) -> None:
        self._world.step(what)
        if self._world.fault(1, 0.02):
            self._world.tell("Slurm does not answer")
            raise self._unreachable()

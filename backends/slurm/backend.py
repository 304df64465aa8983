"""Run scripts with Slurm, through its own commands."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, ThrottledError, UnreachableError

from ..base import JobId, Observation, SharedFolders
from ..runner import NO_ANSWER_HINT, become, scrubbed
from . import commands
from .change import change
from .observation import MANY, observed
from .output import (
    accounting_records,
    accounting_rows,
    exit_of,
    job_id_at,
    option_rows,
    queue_rows,
    submitted_id,
    unavailable_nodes,
)
from .refusals import failure, is_unanswered
from .states import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ..base import Options, Submission
    from ..runner import CommandRunner, Completed
    from .output import Row

Word = TypeVar("Word", bound=str)

SUBMIT_SECONDS = 120.0
"""A controller that is away costs sbatch 9 to 18 s before it says so; a busy one is asked again by sbatch."""

QUERY_SECONDS = 60.0
MAX_WORDS = 300

FIND_DAYS = 30
"""How far back a tag is looked for in the accounts."""

_UNACCOUNTED = re.compile(r"accounting storage is disabled|[Pp]ermission denied|not (?:allowed|permitted)|ccess denied")
"""What sacct says where there are no accounts for this user. Source: observed on 22.05; wrappers of sites."""


def one_component(_: JobId) -> int:
    return 1


class SlurmBackend(SharedFolders):
    """Submit, observe and cancel through sbatch, squeue, sacct and scancel.

    `components` says how many components a job has: its script tells (`batch_script.components`). It is asked of
    jobs only that the queue shows no more, some minutes after their end (MinJobAge, 5 minutes by default).
    """

    name = "slurm"

    def __init__(self, runner: CommandRunner, components: Callable[[JobId], int] = one_component) -> None:
        self._runner = runner
        self._components = components

    def version(self) -> str:
        """Return what sbatch says of its version, without a question to the controller."""
        return self._answer(commands.sbatch_version())

    def submit(self, submission: Submission) -> JobId:
        """Hand a script to sbatch; an answer without a job id is no answer."""
        argv = commands.sbatch(submission)
        return self._submitted(argv, self._runner.run(argv, base=submission.environment, timeout=SUBMIT_SECONDS))

    def _submitted(self, argv: Sequence[str], done: Completed) -> JobId:
        """Return the id that sbatch has given, or raise what it says instead."""
        if done.status:
            raise failure(argv, done)
        job_id = submitted_id(done.stdout)
        if job_id is None:
            message = f"sbatch printed no job id: {done.stdout.strip()[:MAX_WORDS] or 'nothing'}"
            hint = "whether the job was taken is found out by its tag; " + NO_ANSWER_HINT.format("sbatch")
            diagnostic = Diagnostic(code="E502", message=message, hint=hint)
            raise UnreachableError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)
        return job_id

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of jobs: one query of the queue, one of the accounts for those that ended."""
        found: dict[JobId, Observation] = {}
        for wanted in by_cluster(set(ids), commands.cluster_of).values():
            found |= observed(wanted, self._queue, self.accounts, self._components, self.unaccounted)
        return found

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs of these tags, by one query of the queue, and one of the accounts for the rest."""
        found: dict[str, JobId] = {}
        for cluster, wanted in by_cluster(tags, commands.cluster_of_tag).items():
            rows = (line.partition("|") for line in self._answer(commands.squeue_tags(cluster)).splitlines())
            found |= {comment: _leader(job, cluster) for job, _, comment in rows if comment in wanted}
            if missing := [tag for tag in wanted if tag not in found]:
                found |= self._find_in_accounts(missing, cluster)
        return found

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:  # noqa: ARG002 - as in Backend
        """Become the program, in the caller's environment without what Slurm left in it.

        A step of a job of another cluster is not started from here: srun asks the controller of this machine for it, of
        which another job may have that number.
        """
        check_cluster(job_id)
        return become(argv, scrubbed(os.environ))

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are down, drained or failing now, or do not respond, and Slurm's reason."""
        return unavailable_nodes(self._answer(commands.sinfo(nodes)))

    def cancel(self, *job_ids: JobId) -> None:
        """Cancel jobs with all their components, by one call; scancel does not mind those that have ended."""
        for wanted in by_cluster(job_ids, commands.cluster_of).values():
            for first in range(0, len(wanted), MANY):
                argv = commands.scancel(wanted[first : first + MANY])
                done = self._runner.run(argv, timeout=QUERY_SECONDS)
                said = [done.stderr] if len(job_ids) == 1 else done.stderr.splitlines()
                if done.status and not (said and all("already completing" in line for line in said)):
                    raise failure(argv, done)

    def options(self, ids: Collection[JobId]) -> Mapping[JobId, Options]:
        """Return what jobs have of options that can be changed: one query of the queue."""
        found: dict[JobId, Options] = {}
        for cluster, wanted in by_cluster(set(ids), commands.cluster_of).items():
            rows = option_rows(self._queue_answer(wanted, commands.OPTION_FIELDS), cluster)
            found |= {job_id: rows[job_id] for job_id in wanted if job_id in rows}
        return found

    def change(self, job_id: JobId, values: Mapping[str, str], before: Options = ()) -> None:
        """Change a job with all its components, by one scontrol where that does; one more holds or releases it."""
        change(self._runner, job_id, values, before, lambda: self.options([job_id]).get(job_id, ()))

    def unaccounted(self, job_id: JobId, seen: Observation | None) -> Observation:
        """Return what is known of the end of a job of which nobody but the controller knows, and that not for long."""
        if seen is None:
            return Observation(job_id=job_id, state=FORGOTTEN, raw_state=FORGOTTEN, final=True)
        if seen.state != "FAILED":
            return seen
        status, signal = self.exit_of(job_id)
        return replace(seen, status=status, signal=signal)

    def accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounts of jobs, None where the site keeps none, or does not show them to its users.

        Unless they `must` be there, an accounting database that is away is the same as one that lags.
        """
        if not ids:
            return []
        try:
            stdout = self._sacct(commands.sacct(ids), commands.TIMES)
            return None if stdout is None else accounting_rows(stdout, commands.cluster_of(ids[0]))
        except ThrottledError:
            raise
        except UnreachableError:
            if must:
                raise
            return []

    def exit_of(self, job_id: JobId) -> tuple[int | None, int | None]:
        """Return the status and the signal that a job ended with, None both where the controller has forgotten it.

        This is right also where a batch script ended with 128 or more, of which the accounts of 22.05 and 24.11, and
        pyslurm, lose 128.
        """
        argv = commands.scontrol_show_job(job_id)
        done = self._runner.run(argv, timeout=QUERY_SECONDS)
        if done.status and "Invalid job id" in done.stderr:
            return None, None
        if is_unanswered(done):
            raise failure(argv, done)
        return exit_of(done.stdout, JobId(commands.number_of(job_id)))

    def _answer(self, argv: Sequence[str]) -> str:
        """Return what a query prints, of which every failure is one."""
        done = self._runner.run(argv, timeout=QUERY_SECONDS)
        if is_unanswered(done):
            raise failure(argv, done)
        return done.stdout

    def _queue(self, ids: Sequence[JobId]) -> list[Row]:
        return queue_rows(self._queue_answer(ids, commands.QUEUE_FIELDS), commands.cluster_of(ids[0]))

    def _queue_answer(self, ids: Sequence[JobId], columns: Mapping[str, str]) -> str:
        argv = commands.squeue(ids, columns)
        done = self._runner.run(argv, env=commands.TIMES, timeout=QUERY_SECONDS)
        # A single job that the controller has forgotten is an error for squeue.
        if is_unanswered(done) and "Invalid job id" not in done.stderr:
            raise failure(argv, done)
        return done.stdout

    def _find_in_accounts(self, tags: Collection[str], cluster: str) -> dict[str, JobId]:
        try:
            stdout = self._sacct(commands.sacct_tags(FIND_DAYS, cluster))
        except BackendError as error:
            if "Invalid field" not in error.stderr:
                raise
            stdout = self._sacct(commands.sacct_tags(FIND_DAYS, cluster, submit_line=False))
        rows = accounting_records(stdout or "", ("JobID", "Comment"))
        words = ((word, row) for row in rows for word in (row["Comment"], *row.get("SubmitLine", "").split()[-1:]))
        return {word: _leader(row["JobID"], cluster) for word, row in words if word in tags}

    def _sacct(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> str | None:
        """Return what the accounts say, None where the site keeps none, or does not show them to its users."""
        try:
            done = self._runner.run(argv, env=env, timeout=QUERY_SECONDS)
        except UnreachableError as error:
            if error.diagnostics[0].code == "E501":
                return None
            raise
        if done.status and _UNACCOUNTED.search(done.stderr):
            return None
        if is_unanswered(done):
            raise failure(argv, done)
        return done.stdout


def check_cluster(job_id: JobId) -> None:
    """Raise RejectedError for a job of another cluster than that of the login node."""
    if cluster := commands.cluster_of(job_id):
        diagnostic = Diagnostic(
            code="E526",
            message=f"job {job_id} is of another cluster: nothing can be run in it from here",
            hint=f"call this on a login node of the cluster {cluster}",
        )
        raise RejectedError(diagnostic)


def by_cluster(words: Iterable[Word], cluster_of: Callable[[Word], str]) -> dict[str, list[Word]]:
    """Return words by their clusters, which are asked one by one."""
    found: dict[str, list[Word]] = {}
    for word in words:
        found.setdefault(cluster_of(word), []).append(word)
    return found


def _leader(job: str, cluster: str) -> JobId:
    return job_id_at(job.partition("+")[0], cluster)

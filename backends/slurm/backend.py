"""Run scripts with Slurm, through its own programs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, ThrottledError, UnreachableError

from ..base import Accepted, JobId, Observation, SharedFolders
from ..runner import NO_ANSWER_HINT, SLEEPS, become, environment_of_process, scrubbed
from . import commands
from .change import change
from .identity import runs_script, shown_tag, shown_words
from .job_states import FORGOTTEN, MANY, Phase, normalize, observed, phase
from .output import (
    accounting_records,
    accounting_rows,
    exit_of,
    job_id_at,
    option_rows,
    queue_rows,
    records,
    submitted_ids,
    unavailable_nodes,
)
from .refusals import failure, is_refused, is_unanswered, notes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ..base import Options, RunFolders, Submission
    from ..runner import CommandRunner, Completed, Environment
    from .output import Row

Word = TypeVar("Word", bound=str)

SUBMIT_SECONDS = 120.0
"""If the controller is down, sbatch reports it after 9 to 18 s; if it is busy, sbatch retries."""

QUERY_SECONDS = 60.0
MAX_MESSAGE_CHARACTERS = 300

FIND_DAYS = 30
"""How many days back to search the accounts for a tag."""

FEW_NAMES = 10
"""Limit on the calls of scancel with different names: each reads the jobs of all users."""
_HAS_ENDED = re.compile("already completing|Invalid job id")
"""Messages of scancel for an ended job, the second only with a name. Source: observed on 22.05, 24.11 and 26.05."""

_UNACCOUNTED = re.compile(r"accounting storage is disabled|[Pp]ermission denied|not (?:allowed|permitted)|ccess denied")
"""Messages of sacct if this user has no accounts. Source: observed on 22.05; wrappers of sites."""


def one_component(_: JobId) -> int:
    return 1


class SlurmBackend(SharedFolders):
    """Submit, observe and cancel through sbatch, squeue, sacct and scancel.

    `components` returns the number of components in a job's script (`batch_script.components`). It is called only
    for jobs to change, and those that have left the queue, some minutes after their end (MinJobAge, 5 minutes by
    default). `run_folders` returns the run folders of jobs by ids and tags.
    """

    name = "slurm"

    def __init__(
        self,
        runner: CommandRunner,
        components: Callable[[JobId], int] = one_component,
        environment: Environment = environment_of_process,
        run_folders: RunFolders = lambda _, __: (),
    ) -> None:
        self._runner = runner
        self._components = components
        self._environment = environment
        self._run_folders = run_folders

    def version(self) -> str:
        """Return the version of sbatch, without a query to the controller."""
        return self._answer(commands.sbatch_version())

    def submit(self, submission: Submission) -> Accepted:
        """Submit a script by sbatch. Raises UnreachableError if sbatch prints no job id."""
        argv = commands.sbatch(submission)
        return self._submitted(argv, self._runner.run(argv, base=submission.environment, timeout=SUBMIT_SECONDS))

    def _submitted(self, argv: Sequence[str], done: Completed) -> Accepted:
        """Return the job that sbatch submitted, or raise its error. If the id is not certain, the tag decides.

        It also decides if sbatch was stopped because it waited to try again.
        """
        found, waited = submitted_ids(done.stdout), SLEEPS in done.stderr and bool(done.status)
        if is_refused(done) or (done.status and not found and not waited):
            raise failure(argv, done)
        if len(found) == 1 and not done.status:
            return Accepted(next(iter(found)), notes(done))
        job_id = None
        try:
            job_id = self.find(argv[-1:]).get(argv[-1]) if found or waited else None
        except BackendError:
            waited = False
        if job_id:
            return Accepted(job_id, notes(done))
        if waited and not found:
            raise failure(argv, done)
        said = "several numbers" if len(found) > 1 else "a job id" if found else "no job id"
        failed = f"failed with status {done.status}, but " * bool(done.status)
        message = f"sbatch {failed}printed {said}: {done.stdout.strip()[:MAX_MESSAGE_CHARACTERS] or 'nothing'}"
        hint = "paislurm searches for the job by its tag; " + NO_ANSWER_HINT.format("sbatch")
        diagnostic = Diagnostic(code="E502", message=message, hint=hint)
        raise UnreachableError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of jobs, by one query of the queue and one of the accounts for ended jobs."""
        found: dict[JobId, Observation] = {}
        for wanted in by_cluster(set(ids), commands.cluster_of).values():
            found |= observed(wanted, self._queue, self.accounts, self._components, self.unaccounted)
        return found

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs with these tags, by one query of the queue and one of the accounts for the rest.

        A waiting or running job that shows no tag is found by its script.
        """
        found: dict[str, JobId] = {}
        for cluster, wanted in by_cluster(tags, commands.cluster_of_tag).items():
            rows = records(self._answer(commands.squeue_tags(cluster)), commands.TAG_FIELDS)
            words = ((word, row) for row in rows for word in shown_words(row["comment"], row["command"]))
            found |= {word: _leader(row["id"], cluster) for word, row in words if word in wanted}
            if missing := [tag for tag in wanted if tag not in found]:
                found |= self._find_in_accounts(missing, cluster) | self._find_by_script(missing, rows, cluster)
        return found

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:  # noqa: ARG002 - as in Backend
        """Replace this process by the program, in the caller's environment without Slurm's variables.

        A job of another cluster is refused: srun would query this machine's controller, where another job may have
        the same number.
        """
        check_cluster(job_id)
        return become(argv, scrubbed(self._environment()))

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return the nodes that are down, drained, failing or not responding, each with Slurm's reason."""
        return unavailable_nodes(self._answer(commands.sinfo(nodes)))

    def known_nodes(self, nodes: Collection[str], cluster: str = "") -> frozenset[str]:
        """Return those of some nodes that exist, by one query. sinfo prints nothing for other names."""
        return frozenset(self._answer(commands.sinfo_names(nodes, cluster)).split()).intersection(nodes)

    def cancel(self, *job_ids: JobId, names: Mapping[JobId, str] | None = None) -> None:
        """Cancel jobs with all their components, by one call per cluster, or one per name if there are few names.

        Ignore jobs that have ended. scancel retries while the controller is away; without a name it then cancels the
        job that has got the number since. With a name, it reads all jobs first. Source: observed on 22.05, 24.11 and
        26.05.
        """
        for wanted in by_cluster(job_ids, commands.cluster_of).values():
            named = by_cluster(wanted, lambda job_id: (names or {}).get(job_id, ""))
            for name, same in named.items() if len(named) <= FEW_NAMES else [("", wanted)]:
                for first in range(0, len(same), MANY):
                    self._cancel(commands.scancel(same[first : first + MANY], name))

    def _cancel(self, argv: Sequence[str]) -> None:
        done = self._runner.run(argv, timeout=QUERY_SECONDS)
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        if done.status and not (errors and all(_HAS_ENDED.search(line) for line in errors)):
            raise failure(argv, done)

    def change(self, job_id: JobId, values: Mapping[str, str]) -> None:
        """Change a job with all its components, by one scontrol; a second one holds or releases it."""
        change(self._runner, job_id, values, self._components(job_id), lambda: self._options(job_id))

    def unaccounted(self, job_id: JobId, seen: Observation | None) -> Observation:
        """Return the observation of an ended job without accounts; only the controller knows it, for a short time."""
        if seen is None:
            return Observation(job_id=job_id, state=FORGOTTEN, raw_state=FORGOTTEN, final=True)
        if seen.state != "FAILED":
            return seen
        status, signal = self.exit_of(job_id)
        return replace(seen, status=status, signal=signal)

    def accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounting rows of jobs, None if the site keeps none or hides them from users.

        With `must`, raise UnreachableError if the database is down. Without it, treat that as accounts that lag.
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
        """Return the exit status and signal of a job, both None if the controller has forgotten it.

        This is also correct for a batch script that exited with 128 or more; the accounts of 22.05 and 24.11, and
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
        """Return the output of a query. Raises an error for every failure."""
        done = self._runner.run(argv, timeout=QUERY_SECONDS)
        if is_unanswered(done):
            raise failure(argv, done)
        return done.stdout

    def _queue(self, ids: Sequence[JobId]) -> list[Row]:
        return queue_rows(self._queue_answer(ids, commands.QUEUE_FIELDS), commands.cluster_of(ids[0]))

    def _options(self, job_id: JobId) -> Options:
        """Return the current values of options that can be changed, for each component, by one query of the queue."""
        answer = self._queue_answer([job_id], commands.OPTION_FIELDS)
        return option_rows(answer, commands.cluster_of(job_id)).get(job_id, ())

    def _queue_answer(self, ids: Sequence[JobId], columns: Mapping[str, str]) -> str:
        argv = commands.squeue(ids, columns)
        done = self._runner.run(argv, env=commands.TIMES, timeout=QUERY_SECONDS)
        # squeue fails if the only job is one that the controller has forgotten.
        if is_unanswered(done) and "Invalid job id" not in done.stderr:
            raise failure(argv, done)
        return done.stdout

    def _find_by_script(
        self, tags: Collection[str], rows: Iterable[Mapping[str, str]], cluster: str
    ) -> dict[str, JobId]:
        """Return the waiting and running jobs of the queue that run the scripts of these attempts.

        Others may be those of a removed job of the same name.
        """
        living = [row for row in rows if phase(normalize(row["state"])) is not Phase.ENDED]
        unnamed = [row for row in living if not shown_tag(row["comment"], row["command"])]
        attempts = self._run_folders((), tags) if unnamed else ()
        return {
            attempt.tag: _leader(row["id"], cluster)
            for attempt in attempts
            for row in unnamed
            if runs_script(row["command"], attempt)
        }

    def _find_in_accounts(self, tags: Collection[str], cluster: str) -> dict[str, JobId]:
        rows = accounting_records(self._sacct(commands.sacct_tags(FIND_DAYS, cluster)) or "", ("JobID", "Comment"))
        # The first row is the leader's: from 24.11 on, the components of a job that waits have rows of plain jobs.
        words = (
            (word, row) for row in reversed(rows) for word in shown_words(row["Comment"], row.get("SubmitLine", ""))
        )
        return {word: _leader(row["JobID"], cluster) for word, row in words if word in tags}

    def _sacct(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> str | None:
        """Return the output of sacct, None if the site keeps no accounts or hides them from users."""
        try:
            done = self._runner.run(argv, env=env, timeout=QUERY_SECONDS)
        except UnreachableError as error:
            if error.diagnostics[0].code == "E501":
                return None
            raise
        if done.status and _UNACCOUNTED.search(done.stderr):
            return None
        if done.status and "Invalid field" in done.stderr and (older := commands.without_submit_line(argv)) != argv:
            return self._sacct(older, env)
        if is_unanswered(done):
            raise failure(argv, done)
        return done.stdout


def check_cluster(job_id: JobId) -> None:
    """Raise RejectedError for a job of a cluster other than the login node's."""
    if cluster := commands.cluster_of(job_id):
        diagnostic = Diagnostic(
            code="E526",
            message=f"job {job_id} runs on cluster {cluster}, whose tasks cannot be reached from here",
            hint=f"run this on a login node of {cluster}",
        )
        raise RejectedError(diagnostic)


def by_cluster(words: Iterable[Word], cluster_of: Callable[[Word], str]) -> dict[str, list[Word]]:
    """Group words by their clusters."""
    found: dict[str, list[Word]] = {}
    for word in words:
        found.setdefault(cluster_of(word), []).append(word)
    return found


def _leader(job: str, cluster: str) -> JobId:
    return job_id_at(job.partition("+")[0], cluster)

"""What must hold when a history is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import JobId
from paislurm.translator.state import journal as journals
from paislurm.translator.state.history import history
from paislurm.translator.state.journal_records import Intent, Submitted
from tests.journals import faults_of

from .people import HOME, SECRET
from .script import DUPLICATE
from .witness import MOMENT, ViolationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paislurm.translator.state.history import History
    from paislurm.translator.state.journal_records import Record

    from .batch import Job
    from .files import Server
    from .nodes import Node
    from .people import People


def folders(server: Server) -> Iterator[tuple[str, Node]]:
    """Yield the job folders, by name."""
    jobs = server.find(f"{HOME}/jobs")
    for name, folder in (jobs.entries if jobs else {}).items():
        if "~" in name and name[0] != "." and "journal.jsonl" in folder.entries:
            yield name, folder


def records_of(folder: Node) -> tuple[Record, ...]:
    """Return the records of a job folder."""
    return journals._records(folder.entries["journal.jsonl"].data, first=1).records


def journal(folder: Node) -> History:
    """Return the history in a job folder."""
    return history(records_of(folder))


def check(people: People, server: Server) -> None:
    """Raise ViolationError if an invariant does not hold."""
    if people.witness.violation:
        raise ViolationError(people.witness.violation)
    ran: dict[str, list[Job]] = {}
    for job, tag in people.slurm.ran:
        ran.setdefault(tag, []).append(job)
    if people.slurm.ran_after_end:
        raise ViolationError(f"job {people.slurm.ran_after_end} ran after the end was recorded")
    for tag, jobs in ran.items():
        if len({job.id for job in jobs}) > 1:
            raise ViolationError(f"attempt {tag} ran twice, as jobs {', '.join(sorted(job.id for job in jobs))}")
    ids: dict[str, set[str]] = {}
    for name, folder in folders(server):
        records = records_of(folder)
        if folder.entries["journal.jsonl"].number not in people.witness.mixed:
            _check_journal(name, records)
        for record in records:
            if isinstance(record, Submitted):
                ids.setdefault(_tag_of(record, records), set()).add(record.job_id)
        if "secrets" in folder.entries:
            raise ViolationError(f"the secrets of {name} stay")
    if any(SECRET.encode() in file.data for _, file in server.root.below()):
        raise ViolationError("a secret stays in a file")
    _check_told(people, ids)


def _check_told(people: People, ids: dict[str, set[str]]) -> None:
    """Check what users were told: a submitted job is in a journal, and none is submitted after a cancel."""
    for told in people.submitted:
        removed = told.tag.partition(".")[0] in people.removed
        job = people.slurm.jobs[JobId(told.job_id)]
        # A job that could not be recorded, because the disk was full, cannot be found once Slurm has lost it.
        if not removed and job.lost is None and told.job_id not in ids.get(told.tag, ()):
            raise ViolationError(f"no journal has job {told.job_id}, which its user was told of")
        # A lost job that comes back may run the attempt of a later job of its name.
        timely = told.tag in people.witness.timely and not people.slurm.loses_jobs
        if timely and job.status == DUPLICATE and all(tag != told.tag for _, tag in people.slurm.ran):
            raise ViolationError(f"job {told.job_id}, which its user was told of, found its attempt taken by no job")
    if people.witness.mixed:
        # On NFS the record of the cancel may be lost.
        return
    for told in people.cancelled:
        family = told.tag.partition(".")[0]
        for job in people.slurm.jobs.values():
            late = job.asked - told.at
            if job.submission.tag.partition(".")[0] != family or late <= 0:
                continue
            # Only a process that was stopped between its last look and its submit can be so late, and only one that
            # was stopped or killed after it, or did not get the answer of sbatch, leaves the job to the next step of a
            # monitor.
            stalls, kills = people.world.stalls, people.world.kills
            left = kills or stalls or job.id not in people.witness.answered
            if (late > MOMENT and not stalls) or not (job.cancel_asked or left):
                raise ViolationError(f"job {job.id} was submitted after its user was told of the cancel")


def _tag_of(submitted: Submitted, records: Sequence[Record]) -> str:
    return next((each.tag for each in records if isinstance(each, Intent) and each.attempt == submitted.attempt), "")


def _check_journal(name: str, records: Sequence[Record]) -> None:
    for _, fault in faults_of(records):
        raise ViolationError(f"{name}: {fault}")

"""Evidence for reports: what Slurm's accounting says of attempts, and the submitted files."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.steps import accounted_usages, allocations, sacct_steps

from ...errors import BackendError
from ...files.names import JOB_FILE
from ...state.journal_records import Submitted
from ...state.kept_script import HEAD, split
from ..log_reading import log_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from paislurm.backends.slurm.steps import Allocated, StepUsage

    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.journal_records import Record
    from ..session import Session


SECONDS = 60.0
MAX_COMPONENTS = 128
"""Components of a heterogeneous job have consecutive numbers. Source: srun(1), --het-group."""
MAX_IDS = 5000
"""The number of jobs in a query: Linux limits a word of a command line to 128 KiB."""
CLOCK_SECONDS = 600
"""How much the clocks of the login node and the controller may differ."""


class OfJob(NamedTuple):
    """A job and its journal."""

    known: History
    records: Sequence[Record]


class Accounts(Struct, frozen=True):
    """What Slurm's accounting has of a job, by attempt: pairs of a component and its allocation; usages by role."""

    allocated: dict[int, list[tuple[int, Allocated]]] = field(default_factory=lambda: defaultdict(list))
    usages: dict[int, dict[str, StepUsage]] = field(default_factory=lambda: defaultdict(dict))


class _Leader(NamedTuple):
    number: int
    attempt: int
    job: int


def accounts(session: Session, jobs: Sequence[OfJob], *, steps: bool) -> list[Accounts]:
    """Return the accounts of each job, with `steps` also its usages; empty ones without Slurm accounting.

    Slurm is queried once for all jobs of a cluster. For a role with several steps, the usage is that of the step with
    the most tasks.
    """
    found = [Accounts() for _ in jobs]
    for (backend, _), ids in _by_cluster(jobs).items():
        for first in range(0, len(ids), MAX_IDS):
            part = dict(ids[first : first + MAX_IDS])
            try:
                argv = sacct_steps(part, steps=steps)
                answer = session.slurm_runner(backend).run(argv, env=commands.TIMES, timeout=SECONDS).stdout
            except BackendError:
                continue
            _add(found, jobs, answer, sorted(part.values()))
    return found


def _by_cluster(jobs: Sequence[OfJob]) -> dict[tuple[str, str], list[tuple[JobId, _Leader]]]:
    """Return the ids of all attempts by backend and cluster."""
    found: dict[tuple[str, str], list[tuple[JobId, _Leader]]] = {}
    for job, (known, records) in enumerate(jobs):
        for each in records if known.backend != LOCAL else ():
            if isinstance(each, Submitted) and each.job_id:
                job_id = JobId(each.job_id)
                leader = _Leader(int(commands.number_of(job_id)), each.attempt, job)
                found.setdefault((known.backend, commands.cluster_of(job_id)), []).append((job_id, leader))
    return found


def _add(found: Sequence[Accounts], jobs: Sequence[OfJob], answer: str, leaders: Sequence[_Leader]) -> None:
    """Add the rows of an answer to the jobs that they belong to."""

    def leader_of(number: int) -> _Leader | None:
        place = bisect_right(leaders, number, key=lambda leader: leader.number) - 1
        is_near = place >= 0 and number < leaders[place].number + MAX_COMPONENTS
        return leaders[place] if is_near else None

    for each in allocations(answer):
        leader = leader_of(each.number)
        # A controller that lost its state gives numbers again.
        if leader is not None and each.started >= jobs[leader.job].known.created - CLOCK_SECONDS:
            found[leader.job].allocated[leader.attempt].append((each.number - leader.number, each))
    for number, name, usage in accounted_usages(answer):
        leader = leader_of(number)
        if leader is not None and any(role.name == name for role in jobs[leader.job].known.roles):
            of_attempt = found[leader.job].usages[leader.attempt]
            of_attempt[name] = max(of_attempt.get(name, usage), usage, key=lambda each: each.tasks)


def read_owned(folder: JobFolder, path: Path, limit: int) -> bytes:
    """Return a file of a job; b"" if it is missing, larger than `limit`, or owned by another user."""
    data, whole = log_end(path, limit, folder.path.stat().st_uid)
    return data if whole else b""


MAX_BYTES = 4 << 20


def parameters_of(folder: JobFolder) -> Mapping[str, str]:
    """Return the parameters of the submitted job file; {} if it cannot be read."""
    from ...errors import ProtocolError
    from ...reading.read import read

    text = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    try:
        return texts(read(text, file=JOB_FILE).at(("parameters",))) if text else {}
    except ProtocolError:
        return {}


def texts(value: object) -> Mapping[str, str]:
    """Return a mapping with its values as text; {} for another type."""
    return {str(key): _text(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def submitted_files(folder: JobFolder, known: History) -> tuple[str, str]:
    """Return the submitted job file and the head of the newest script; "" for one that the owner does not have."""
    job = read_owned(folder, folder.path / JOB_FILE, MAX_BYTES)
    scripts = (_script(folder, attempt) for attempt in range(known.attempt, -1, -1))
    script = next(filter(None, scripts), b"")
    sealed = split(script)
    head = sealed[0] if sealed else script
    return job.decode(errors="replace").removeprefix("\ufeff"), head.decode(errors="replace")


def _script(folder: JobFolder, attempt: int) -> bytes:
    """Return the script of an attempt, or its head after tidying; b"" if the owner has neither."""
    script = folder.script(attempt)
    return read_owned(folder, script, MAX_BYTES) or read_owned(folder, script.with_name(HEAD), MAX_BYTES)

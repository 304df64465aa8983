"""The witness of a history: it sees what processes read and write, and notices at once what no process may do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from paislurm.translator.state import journal as journals
from paislurm.translator.state.address import newest, parse
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, Ended, Intent, Submitted, dump

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paislurm.backends.base import JobId, Submission
    from paislurm.translator.files.lock import Lock
    from paislurm.translator.state.history import History
    from paislurm.translator.state.journal_records import Record

    from .files import Server
    from .nodes import Node
    from .slurm import Slurm
    from .world import Process, World

STALE_SECONDS = 60
"""Seconds without a heartbeat after which another process may take a lock. Source: state/lock.py."""
SUBMIT_SECONDS, SETTLED_SECONDS = 120, 180
"""Seconds for which sbatch tries, and after which an attempt that Slurm does not know was never accepted."""
_LOCKED = journals.LOCK_TRIES * journals.LOCK_PAUSE
"""Seconds for which an append waits for the lock of its journal."""
MOMENT = 2.0
"""Seconds in which processes that are not stopped finish what they have begun."""


class ViolationError(Exception):
    """An invariant that does not hold."""


class _Done(Struct):
    """What a process has done.

    These are the kinds of records that it tried to write, the lines that it wrote, each with its journal, the journals
    in which it saw a cancel, those that it read last at each path and in which it recorded a cancel, and the jobs that
    Slurm has accepted and that it has not recorded.
    """

    kinds: set[type] = field(default_factory=set)
    lines: list[tuple[Any, bytes]] = field(default_factory=list)
    cancelled: set[int] = field(default_factory=set)
    read: dict[Path, int] = field(default_factory=dict)
    cancels: dict[str, int] = field(default_factory=dict)
    accepted: list[JobId] = field(default_factory=list)


class _Owner(Struct):
    lock: Lock
    last: float
    stalled: bool = False


class Witness:
    """What is known of all processes of a history. `violation` is the first broken invariant, "" for none."""

    def __init__(self, world: World, server: Server) -> None:
        self.world = world
        self.server = server
        self.slurm: Slurm
        self.violation = ""
        self._done: dict[Process | None, _Done] = {}
        self._owners: dict[str, _Owner] = {}
        self._asked: dict[str, float] = {}
        self.timely: set[str] = set()
        """The attempts that were submitted at once after their intent."""
        self.answered: set[JobId] = set()
        """The jobs of which sbatch told its caller."""
        self._found: set[str] = set()
        self._over: set[str] = set()
        self._gone: set[Path] = set()
        self._writing: dict[int, dict[int, float]] = {}
        self.mixed: set[int] = set()
        """The journals to which two hosts appended at once: on NFS a record may be lost."""

    def breaks(self, what: str) -> None:
        """Raise ViolationError."""
        self.violation = self.violation or what
        raise ViolationError(what)

    def _of(self) -> _Done:
        return self._done.setdefault(self.world.current, _Done())

    # Journals

    def journal(self, path: Path | str) -> Node | None:
        """Return a journal as the server has it."""
        return self.server.find(str(path))

    def has_read(self, journal: Path, node: Node | None, records: tuple[Record, ...]) -> None:
        """Note which job a process knows at a path, and that it knows of a cancel."""
        if node is not None:
            self._of().read[journal] = node.number
        if node is not None and any(isinstance(record, Cancelled) for record in records):
            self._of().cancelled.add(node.number)

    def writes(self, journal: Path, record: Record) -> Node | None:
        """Check a record before it is written, and return its journal; None if the job has been removed."""
        done, name, node = self._of(), journal.parent.name, self.journal(journal)
        done.kinds.add(type(record))
        if isinstance(record, Submitted):
            done.accepted = [job_id for job_id in done.accepted if job_id != record.job_id]
        if node is None:
            return None
        if done.read.setdefault(journal, node.number) != node.number:
            self.breaks(f"a {type(record).__name__} of another job is written into {name}")
        self._writing.setdefault(node.number, {})[id(done)] = self.world.now
        if isinstance(record, Intent):
            jobs = self.journal(journal.parent.parent)
            if jobs is not None and newest(jobs.entries)[parse(name).name] != name:
                self.breaks(f"{name} goes on, although another job has its name")
            if node.number in done.cancelled:
                self.breaks(f"an attempt of {name} begins, although the process knows that it is cancelled")
        if isinstance(record, Ended):
            self._check_end(node, record)
        return node

    def _check_end(self, journal: Node, record: Ended) -> None:
        known = history(journals._records(journal.data, first=1).records)
        if "never reached" not in record.reason or known.attempt != record.attempt:
            return
        asked = self._asked.get(known.tag)
        if asked is not None and self.world.now - asked < SUBMIT_SECONDS:
            self.breaks(f"attempt {known.tag} is given up, and sbatch still tries")
        if known.tag in self._found:
            self.breaks(f"attempt {known.tag} is given up, although Slurm has named its job")

    def is_over(self, node: Node | None) -> None:
        """Note the end of a write, and whether another process held the lock for longer than this one waited."""
        if node is not None:
            writing = self._writing[node.number]
            if self.server.cached and len(writing) > 1 and self.world.now - min(writing.values()) > _LOCKED:
                self.mixed.add(node.number)
            writing.pop(id(self._of()), None)

    def has_written(self, node: Node | None, journal: Path, record: Record) -> None:
        """Check a record that was written: it is a line of its own."""
        kind, line, name = type(record).__name__, dump(record), journal.parent.name
        if node is not None and node.number not in self.mixed and line not in node.data.splitlines(keepends=True):
            self.breaks(f"a {kind} of {name} is written, and its journal has no such line")
        if node is not None:
            done = self._of()
            # A process that has read a cancel there repeats it for another user's command.
            asks = isinstance(record, Cancelled) and node.number not in done.cancelled
            if asks and done.cancels.setdefault(name, node.number) != node.number:
                self.breaks(f"a cancel of an earlier job of the name cancels {name}")
            done.lines.append((node, line))

    def must_have_written(self, kind: type | tuple[type, ...], why: str) -> None:
        """Check that what a user was told is recorded, or that its process has at least tried; `kind` is of records."""
        done, kinds = self._of(), kind if isinstance(kind, tuple) else (kind,)
        if not done.kinds & {*kinds}:
            self.breaks(f"no {kinds[0].__name__} is recorded, and the user was {why}")
        wanted = [f'"kind": "{each.__name__.lower()}"'.encode() for each in kinds if each is not Submitted]
        for node, line in done.lines:
            if any(word in line for word in wanted) and not any(word in node.data for word in wanted):
                self.breaks(f"the {kinds[0].__name__} is lost again, and the user was {why}")

    def takes_job(self, submission: Submission, living: Sequence[Submission]) -> None:
        """Check, when Slurm takes a job of a paced sweep, that no more of its jobs than allowed are there."""
        known = self._history(submission.folder)
        if known is None or known.pace is None or not known.pace.most_at_once:
            return
        others = {each.folder for each in living} | {submission.folder}
        there = [path.name for path in others if (other := self._history(path)) is not None and other.ended is None]
        names = sorted(name for name in there if f"~{known.group}" in name)
        if len(names) > known.pace.most_at_once:
            self.breaks(f"{len(names)} jobs of the sweep are at Slurm: {', '.join(names)}")

    def _history(self, folder: Path) -> History | None:
        node = self.journal(folder / "journal.jsonl")
        return None if node is None else history(journals._records(node.data, first=1).records)

    def ends(self) -> None:
        """Check what the current process leaves behind at its end."""
        done = self._of()
        if done.accepted:
            self.breaks(f"job {done.accepted[0]} was accepted, and its process has not recorded it")

    def published(self, placed: bool, _: Path, folder: JobFolder) -> None:
        """Check that the path of a new job is new, and that the earlier jobs of its name have ended.

        Its process may have read a job there whose submit was undone; it knows its own job there now.
        """
        if placed and (node := self.journal(folder.journal)) is not None:
            self._of().read[folder.journal] = node.number
        if placed and folder.path in self._gone:
            self.breaks(f"{folder.name} is used again, and was an earlier job's that was removed")
        jobs, address = self.journal(folder.path.parent), parse(folder.name)
        for name in jobs.entries if placed and jobs is not None else ():
            if parse(name).name == address.name and parse(name).number < address.number:
                old = JobFolder(path=folder.path.with_name(name))
                self._check_over(old, f"another job takes the name of {name}, which has not ended")

    def hidden(self, gone: list[Path] | None, folder: JobFolder) -> None:
        """Check that a job whose folder is removed has ended."""
        self._gone.add(folder.path)
        for path in gone or ():
            self._check_over(JobFolder(path=path), f"{folder.name} is removed, and has not ended")

    def _check_over(self, old: JobFolder, otherwise: str) -> None:
        node = self.journal(old.journal)
        if node is None:
            return
        known = history(journals._records(node.data, first=1).records)
        self._over.add(known.tag.partition(".")[0])
        if known.ended is not None or known.cancelled is not None:
            return
        lost = not known.job_id and self.world.now - known.asked > SETTLED_SECONDS
        jobs = [job for job in self.slurm.jobs.values() if job.submission.tag == known.tag]
        over = any(job.ended is not None for job in jobs) or self.server.find(str(old.result(known.attempt)))
        if known.retry is not None or not (over or lost):
            self.breaks(otherwise)

    # Slurm

    def asks(self, submission: Submission) -> None:
        """Check that an attempt is recorded before it is submitted, and is not being submitted already.

        A job that is over, as another one takes its name, may be submitted late: then nothing of it may run.
        """
        tag, now = submission.tag, self.world.now
        node = self.journal(submission.folder / "journal.jsonl")
        records = journals._records(node.data, first=1).records if node is not None else ()
        intents = [record for record in records if isinstance(record, Intent) and record.tag == tag]
        if node is not None and not intents and tag.partition(".")[0] not in self._over:
            self.breaks(f"attempt {tag} is submitted without a record")
        asked = self._asked.get(tag)
        if asked is not None and now - asked < SUBMIT_SECONDS and not self._has_stalled(tag):
            self.breaks(f"attempt {tag} is submitted, and an earlier sbatch still tries")
        if tag in self._found:
            self.breaks(f"attempt {tag} is submitted again, although Slurm has named its job")
        # A process that stood still after its intent may submit late: the claim then lets one job run.
        if intents and now - intents[-1].happened_at < MOMENT + 1:
            self._asked[tag] = now
            self.timely.add(tag)

    def _has_stalled(self, tag: str) -> bool:
        """Return whether the current process stood still, until its lock was lost, after it had made its intent."""
        made = [line for _, line in self._of().lines if tag.encode() in line and b'"kind": "intent"' in line]
        return bool(made) and self.world.now - json.loads(made[-1])["happened_at"] > STALE_SECONDS

    def refuses(self, tag: str) -> None:
        """Note that Slurm refused an attempt."""
        self._asked.pop(tag, None)

    def accepts(self, job_id: JobId) -> None:
        """Note that the current process was told of its job."""
        self._of().accepted.append(job_id)
        self.answered.add(job_id)

    def finds(self, tags: set[str]) -> None:
        """Note that Slurm named the jobs of these tags."""
        self._found |= tags

    def runs(self, job_id: JobId, tag: str, folder: Path) -> None:
        """Check that a job that runs is in its own folder, and finds its secrets there."""
        journal = self.journal(folder / "journal.jsonl")
        if journal is not None and not _is_in(tag, journal):
            self.breaks(f"job {job_id} runs in the folder of another job")
        secrets = self.server.find(str(folder / "secrets"))
        if secrets is None or not secrets.entries:
            self.breaks(f"job {job_id} runs without its secrets")

    # Locks

    def takes(self, lock: Lock, began: float) -> None:
        """Check that a lock that is taken had no living owner; `began` is when its new owner tried to take it."""
        now, folder = self.world.now, str(getattr(lock._files, "_folder", ""))
        owner = self._owners.get(folder)
        if owner is not None and owner.lock._number > lock._number:
            # This process stood still meanwhile. It finds out before it acts.
            return
        if owner is not None and not owner.stalled and now - owner.last <= STALE_SECONDS:
            self.breaks(f"the lock {folder.rpartition('/')[2]} is taken, and its owner lives")
        self._owners[folder] = _Owner(lock, began)

    def beats(self, lock: Lock, began: float) -> None:
        """Note a heartbeat."""
        for owner in self._owners.values():
            if owner.lock is lock:
                owner.stalled = owner.stalled or self.world.now - owner.last > STALE_SECONDS
                owner.last = began

    def gives_up(self, lock: Lock) -> None:
        """Note that an owner releases its lock."""
        self._owners = {folder: owner for folder, owner in self._owners.items() if owner.lock is not lock}


def _is_in(tag: str, journal: Node) -> bool:
    """Return whether a journal is that of the job with an attempt's tag."""
    return f'"{tag.partition(".")[0]}'.encode() in journal.data

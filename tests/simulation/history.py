"""A history: people submit, cancel, change and remove jobs of two names on two login nodes, and what must hold then.

When all is over, faults end and a monitor works until nothing is left to do. Then the invariants are checked.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import cache, partial
from typing import TYPE_CHECKING
from unittest.mock import patch

from msgspec import Struct

from paislurm.backends.base import JobId
from paislurm.translator.app.input.source import Source
from paislurm.translator.app.jobs.cancelling import cancel_jobs
from paislurm.translator.app.jobs.folders.remove import jobs_to_remove, remove_jobs
from paislurm.translator.app.jobs.refresh import views_of
from paislurm.translator.app.monitoring import run_monitor
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit.prepare import Prepared
from paislurm.translator.app.submit.replace_job import finished_in
from paislurm.translator.app.submit.submit import take
from paislurm.translator.app.update.updating import update_jobs
from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Site
from paislurm.translator.state.history import history
from paislurm.translator.state.journal import _records
from paislurm.translator.state.records import Created, Ended, Intent, Retry, Submitted
from paislurm.translator.state.tidying import kept_script

from .files import Node, Server
from .slurm import Slurm
from .syscalls import ROOT, simulated
from .world import Choices, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paislurm.translator.pipeline import Compiled
    from paislurm.translator.state.history import History
    from paislurm.translator.state.records import Record

    from .slurm import Job
    from .world import Process

HOME = f"{ROOT}/home"
NAMES = ("a", "b")
SECRET = "a-secret-that-nobody-may-keep"
OPERATIONS = ("submit", "cancel", "monitor", "status", "update", "remove")
BUDGET = 2
"""How often the job may be retried after failures of unknown cause."""
MAX_ROUNDS = 40
MOMENT = 2.0
"""Seconds in which processes that are not stopped finish what they have begun."""
_JOB = """\
protocolVersion: 2
name: {name}
type: job
jobRetryCount: 2
prerequisites: [{{name: image, type: dockerimage, uri: debian}}]
secrets: {{key: {secret}}}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ['echo <% $secrets.key %>']
"""


class ViolationError(Exception):
    """An invariant that does not hold."""


class Outcome(Struct):
    """What a history came to. `violation` is "" if everything held."""

    violation: str
    choices: list[int]
    story: list[str]
    operations: int
    jobs: int
    seconds: float


class Told(Struct):
    """What a user was told: the tag of the last attempt, the job that was submitted, "" for a cancel, and when."""

    tag: str
    job_id: str
    at: float


@cache
def _compiled(name: str) -> Compiled:
    text = _JOB.format(name=name, secret=SECRET)
    compiled = compile_job(text, file="job.yaml", site=_site())
    assert compiled.script
    return compiled


@cache
def _site() -> Site:
    return Site.of()


class People:
    """The people of a history: each call is a process of its own."""

    def __init__(self, world: World, slurm: Slurm, server: Server) -> None:
        self.world = world
        self.slurm = slurm
        self.server = server
        self.submitted: list[Told] = []
        self.cancelled: list[Told] = []
        self.removed = False
        self.ended: dict[str, str] = {}
        self.count = 0

    def says(self, event: object) -> None:
        """Take down what a process says."""
        self.world.tell(f"says: {event}")

    def session(self) -> Session:
        """Return a session of a new process."""
        session = Session(
            home=HOME,
            say=self.says,
            clock=lambda: self.world.now,
            environment={"HOME": ROOT},
        )
        session._backends = {"slurm": self.slurm}
        return session

    def start(self, what: str, name: str, host: str, delay: float = 0.0) -> Process:
        """Start a process that does something `delay` seconds from now."""
        self.count += 1
        call: Callable[[str], object] = getattr(self, what)
        title = f"{what} {name}" if what != "monitor" else what
        return self.world.spawn(title, host, partial(self._tried, call, name), delay)

    def _tried(self, call: Callable[[str], object], name: str) -> None:
        try:
            call(name)
        except PaislurmError as error:
            self.world.tell(f"says: {error.words}")
        except OSError as error:
            self.world.tell(f"says: {error}")

    def submit(self, name: str) -> None:
        session = self.session()
        folder = session.store.folder(session.user, name)
        compiled = _compiled(name)
        source = Source(file="job.yaml", submit_folder="/tmp")
        prepared = Prepared(source=source, text=b"", compiled=compiled, folder=folder)
        job_id = take(session, prepared, [finished_in(session, folder)])
        tag = self.slurm.jobs[JobId(job_id)].submission.tag
        self.world.tell(f"is told: job {job_id}")
        self.submitted.append(Told(tag, job_id, self.world.now))

    def cancel(self, name: str) -> None:
        session = self.session()
        done, errors = cancel_jobs(session, [session.store.find(name, user=session.user)])
        for each in done:
            self.world.tell(f"is told: {each.message}")
            if not each.had_ended:
                self.cancelled.append(Told(each.view.history.tag, "", self.world.now))
        for error in errors:
            raise error

    def monitor(self, _: str) -> None:
        run_monitor(self.session(), once=True)

    def status(self, name: str) -> None:
        session, ended = self.session(), {**self.ended}
        for view in views_of(session, [session.store.find(name, user=session.user)]):
            tag, state = view.history.tag, view.job_status.state
            self.world.tell(f"sees: {view.folder.name} {state} {view.job_status.reason}")
            before = ended.get(tag)
            if before is not None and (not view.job_status.ended or state != before):
                raise ViolationError(f"a state went back: {view.folder.name} was {before}, then {state}")
            if view.history.ended is not None and not view.news:
                self.ended[tag] = state

    def update(self, name: str) -> None:
        session = self.session()
        folder = session.store.find(name, user=session.user)
        _, errors = update_jobs(session, [folder], {"retries": str(BUDGET)}, several=False)
        for error in errors:
            raise error

    def remove(self, name: str) -> None:
        session = self.session()
        found = jobs_to_remove(session, [name])
        self.removed = True
        remove_jobs(session, found.jobs)


def play(seed: int = 0, given: Sequence[int] | None = None, *, telling: bool = False) -> Outcome:
    """Play a history by a seed, or by the choices of an earlier one."""
    choices = Choices(seed, given)
    world = World(choices, faults=choices.choose(4), telling=telling)
    server = Server(world, cached=bool(choices.choose(2)))
    slurm = Slurm(world, server)
    people = People(world, slurm, server)
    # What a process remembers ends with it; here all processes are one.
    kept_script._body.cache_clear()
    violation = ""
    with simulated(world, server) as calls, ExitStack() as stack:
        for module in ("jobs.job_sites", "monitoring", "jobs.monitor_runs"):
            with suppress(AttributeError):
                stack.enter_context(patch(f"paislurm.translator.app.{module}.find_site", lambda *_, **__: _site()))
        stack.enter_context(patch("paislurm.translator.app.monitoring.used", lambda: 0.0))
        stack.enter_context(patch("paislurm.translator.app.runs.recording.profiles_of", lambda *_: ()))
        calls.client.mkdir(ROOT, 0o755)
        calls.client.mkdir(HOME, 0o700)
        try:
            people.start("submit", "a", "login1", 0.0)
            for _ in range(choices.choose(6)):
                what = OPERATIONS[choices.choose(len(OPERATIONS))]
                delay = (None, 0.0, 5.0, 100.0, 1000.0)[choices.choose(5)]
                name, host = NAMES[choices.choose(2, 0.3)], f"login{1 + choices.choose(2)}"
                if delay is None:
                    world.waiting.append(partial(people.start, what, name, host))
                else:
                    people.start(what, name, host, delay)
            world.run()
            world.faults = 0
            _settle(world, people, server)
            check(people, server)
        except ViolationError as error:
            violation = str(error)
    return Outcome(violation, choices.made, world.story, people.count, len(slurm.jobs), world.now)


def _settle(world: World, people: People, server: Server) -> None:
    """Let monitors work until every job has ended."""
    for number in range(MAX_ROUNDS):
        people.start("monitor", "", f"login{1 + number % 2}", 400.0)
        world.run()
        if all(_journal(folder).ended is not None for _, folder in _folders(server)):
            return
    alive = [name for name, folder in _folders(server) if _journal(folder).ended is None]
    if alive:
        raise ViolationError(f"it never ended: {', '.join(alive)}")


def _folders(server: Server) -> Iterator[tuple[str, Node]]:
    jobs = server.find(f"{HOME}/jobs")
    for name, folder in (jobs.entries if jobs else {}).items():
        if "~" in name and name[0] != "." and "journal.jsonl" in folder.entries:
            yield name, folder


def _journal(folder: Node) -> History:
    return history(_records(bytes(folder.entries["journal.jsonl"].data), first=1).records)


def check(people: People, server: Server) -> None:
    """Raise ViolationError if an invariant does not hold."""
    ran: dict[str, list[Job]] = {}
    for job, tag in people.slurm.ran:
        ran.setdefault(tag, []).append(job)
    if people.slurm.ran_after_end:
        raise ViolationError(f"job {people.slurm.ran_after_end} ran after the end was recorded")
    for tag, jobs in ran.items():
        if len({job.id for job in jobs}) > 1:
            raise ViolationError(f"attempt {tag} ran twice, as jobs {', '.join(sorted(job.id for job in jobs))}")
    ids: dict[str, set[str]] = {}
    for name, folder in _folders(server):
        records = _records(bytes(folder.entries["journal.jsonl"].data), first=1).records
        _check_journal(name, records)
        for record in records:
            if isinstance(record, Submitted):
                ids.setdefault(_tag_of(record, records), set()).add(record.job_id)
        if "secrets" in folder.entries:
            raise ViolationError(f"the secrets of {name} stay")
    if any(SECRET.encode() in file.data for file in _files(server.root)):
        raise ViolationError("a secret stays in a file")
    _check_told(people, ids)


def _check_told(people: People, ids: dict[str, set[str]]) -> None:
    """Check what users were told: a submitted job is in a journal, and none is submitted after a cancel."""
    for told in people.submitted:
        if not people.removed and told.job_id not in ids.get(told.tag, ()):
            raise ViolationError(f"no journal has job {told.job_id}, which its user was told of")
    for told in people.cancelled:
        family = told.tag.partition(".")[0]
        for job in people.slurm.jobs.values():
            late = job.asked - told.at
            if job.submission.tag.partition(".")[0] != family or late <= 0:
                continue
            # Only a process that was stopped between its last look and its submit can be so late, and only one that
            # was killed after it leaves the job to the next step of a monitor.
            if (late > MOMENT and not people.world.stalls) or not (job.cancelled or people.world.kills):
                raise ViolationError(f"job {job.id} was submitted after its user was told of the cancel")


def _files(folder: Node) -> Iterator[Node]:
    for node in folder.entries.values():
        if node.is_folder:
            yield from _files(node)
        else:
            yield node


def _tag_of(submitted: Submitted, records: Sequence[Record]) -> str:
    return next((each.tag for each in records if isinstance(each, Intent) and each.attempt == submitted.attempt), "")


def _check_journal(name: str, records: Sequence[Record]) -> None:
    if not records or not isinstance(records[0], Created):
        raise ViolationError(f"the journal of {name} has lost its first record")
    ends = [position for position, record in enumerate(records) if isinstance(record, Ended)]
    if not ends:
        raise ViolationError(f"{name} has no end")
    after = [record for record in records[ends[0] + 1 :] if isinstance(record, (Intent, Retry))]
    if after:
        raise ViolationError(f"{name} went on after its end: {type(after[0]).__name__}")
    end = records[ends[0]]
    assert isinstance(end, Ended)
    if not end.reason:
        raise ViolationError(f"the end of {name} has no reason")
    retries = [record for record in records if isinstance(record, Retry)]
    unknown = [record for record in retries if getattr(record, "behaviour", "") == "unknown"]
    if len(unknown) > BUDGET:
        raise ViolationError(f"{name} was retried {len(unknown)} times")

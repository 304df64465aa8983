"""The people of a history: each command that they give is a process of its own."""

from __future__ import annotations

from functools import cache, partial
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import JobId
from paislurm.translator.app.input.source import Source
from paislurm.translator.app.jobs.cancelling import cancel_jobs
from paislurm.translator.app.jobs.refresh import views_of
from paislurm.translator.app.jobs.removing import jobs_to_remove, remove_jobs
from paislurm.translator.app.jobs.updating import update_jobs
from paislurm.translator.app.monitor_run import run_monitor
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit.new_folder import place_for
from paislurm.translator.app.submit.prepare import Prepared
from paislurm.translator.app.submit.submitting import take
from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.state import kept_script
from paislurm.translator.state.journal_records import Cancelled, Changed, Ended, Pace, Submitted

from .syscalls import ROOT, SITE

if TYPE_CHECKING:
    from collections.abc import Callable

    from paislurm.translator.monitor.facts import View
    from paislurm.translator.pipeline import Compiled

    from .slurm import Slurm
    from .witness import Witness
    from .world import Process, World

HOME = f"{ROOT}/home"
NAMES = ("a", "b")
SECRET = "a-secret-that-nobody-may-keep"
OPERATIONS = ("submit", "cancel", "monitor", "status", "update", "remove")
GROUP, MEMBERS, AT_ONCE = "g", 5, 2
"""A sweep, its jobs, and how many of them may be at Slurm."""
BUDGET = 2
"""How often the job may be retried after failures of unknown cause."""
RUNTIME = b"true\n"
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


class Told(Struct):
    """What a user was told: the tag of the last attempt, the job that was submitted, "" for a cancel, and when."""

    tag: str
    job_id: str
    at: float


@cache
def _compiled(name: str) -> Compiled:
    text = _JOB.format(name=name, secret=SECRET)
    compiled = compile_job(
        text, file="job.yaml", site=SITE.model_copy(update={"cluster": "far"}) if name == "b" else SITE
    )
    # Nobody runs the script here: a short runtime saves time.
    parts = kept_script.split(compiled.script.encode())
    assert parts is not None
    head, _, digest = parts
    short = head.decode().replace(digest, sha256(RUNTIME).hexdigest()) + RUNTIME.decode()
    compiled.__dict__["script"] = short
    return compiled


def _tag(view: View) -> str:
    """Return the tag of the last attempt, or of the first one of a job that waits."""
    return view.history.tag or view.history.first_tag


class People:
    """Those who give commands, and what they were told."""

    def __init__(self, world: World, slurm: Slurm, witness: Witness) -> None:
        self.world = world
        self.slurm = slurm
        self.witness = witness
        self.submitted: list[Told] = []
        self.cancelled: list[Told] = []
        self.removed: set[str] = set()
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
        self.witness.ends()

    def submit(self, name: str) -> None:
        session = self.session()
        compiled = _compiled(name)
        source = Source(file="job.yaml", submit_folder="/tmp")
        prepared = Prepared(source=source, text=b"", compiled=compiled, name=f"{session.user}~{name}")
        job_id = take(session, prepared, place_for(session, prepared.name)).job_id or ""
        tag = self.slurm.jobs[JobId(job_id)].submission.tag
        self.world.tell(f"is told: job {job_id}")
        self.submitted.append(Told(tag, job_id, self.world.now))
        self.witness.must_have_written(Submitted, f"told of job {job_id}")

    def sweep(self, stop_after: str) -> None:
        """Submit the jobs of a sweep, which all wait for their places."""
        session, pace = self.session(), Pace(most_at_once=AT_ONCE, stop_after=int(stop_after))
        source = Source(file="job.yaml", submit_folder="/tmp")
        for number in range(MEMBERS):
            name = f"{GROUP}{number}"
            prepared = Prepared(
                source=source, text=b"", compiled=_compiled(name), name=f"{session.user}~{name}", group=GROUP, pace=pace
            )
            take(session, prepared, place_for(session, prepared.name))

    def cancel(self, name: str) -> None:
        session = self.session()
        done, errors = cancel_jobs(session, [session.store.find(name, user=session.user)])
        for each in done:
            self.world.tell(f"is told: {each.message}")
            if each.view.job_status.ended:
                self.ended[_tag(each.view)] = each.view.job_status.state
            if not each.had_ended:
                self.cancelled.append(Told(_tag(each.view), "", self.world.now))
                self.witness.must_have_written((Cancelled, Ended), f"told: {each.message}")
                if not each.view.job_status.ended and each.view.history.cancelled is None:
                    self.witness.breaks(f"no record prevents the next attempt, and the user was told: {each.message}")
        for error in errors:
            raise error

    def monitor(self, _: str) -> None:
        run_monitor(self.session(), once=True)

    def status(self, name: str) -> None:
        session, ended = self.session(), {**self.ended}
        for view in views_of(session, [session.store.find(name, user=session.user)]):
            tag, state = _tag(view), view.job_status.state
            self.world.tell(f"sees: {view.folder.name} {state} {view.job_status.reason}")
            before = ended.get(tag)
            if before is not None and (not view.job_status.ended or state != before):
                self.witness.breaks(f"a state went back: {view.folder.name} was {before}, then {state}")
            if view.job_status.ended:
                self.ended[tag] = state

    def update(self, name: str) -> None:
        session = self.session()
        folder = session.store.find(name, user=session.user)
        done, errors = update_jobs(session, [folder], {"retries": str(BUDGET)})
        if any(each.changes for each in done):
            self.witness.must_have_written(Changed, f"told: {done[0].message}")
        for error in errors:
            raise error

    def remove(self, name: str) -> None:
        session = self.session()
        found = jobs_to_remove(session, [name])
        self.removed |= {job.history.tag.partition(".")[0] for job in found.jobs}
        remove_jobs(session, found.jobs)

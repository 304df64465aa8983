"""Run scripts with Slurm at a login node that one reaches by SSH; nothing of ours is installed there.

The folder of a job is there, below `~/.paislurm/remote`. Its journal is here, and what the monitor and people look at
is brought here: so all else is as on the login node itself.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, UnreachableError

from ..base import RunFolder
from ..registry import SSH
from ..runner import BilledRunner, call_end, silent
from ..slurm import commands
from ..slurm.backend import SlurmBackend, check_cluster
from . import errors
from .mirrored import NOTHING, THERE, bring, name_there
from .remote_files import upload
from .runner import SshRunner, attached, completed, remote_script

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ..base import JobId, Observation, Submission
    from ..runner import Charge, CommandRunner, Completed
    from .mirrored import Brought
    from .remote_files import Removals
    from .runner import Outcome
    from .transport import Address, Transport

T = TypeVar("T")

SUBMIT_SECONDS = 90.0
"""For so long a broken connection is opened again for a submit. After 180 s one that is not known was never taken."""
SBATCH_SECONDS = 60
SHORT = 30.0
FIRST_PAUSE, MAX_PAUSE = 0.5, 8.0
SECRETS = "secrets"
FOLDERS = 50
"""Of so many jobs the folders are open at a time: each has five files of the thousand that a process may have."""
_NO_ANSWER, _TOO_LATE = 75, 74
_ROOT = re.compile(r"(/[^\0\n]*)\n([0-9]{1,11}(?:\.[0-9]{1,20})?)\n?")
"""What the script `root` prints: a path, and the time there."""


class SshBackend(SlurmBackend):
    """Submit, observe and cancel through Slurm's programs at a login node.

    `run_folders` tells where the jobs of some ids and tags are; `charge` is told of what is called, as by BilledRunner.
    """

    def __init__(
        self,
        address: Address,
        transport: Transport,
        removals: Removals,
        components: Callable[[JobId], int],
        charge: Charge,
        run_folders: Callable[[Collection[JobId], Collection[str]], Sequence[RunFolder]],
    ) -> None:
        self._ssh = SshRunner(address, transport)
        super().__init__(BilledRunner(self._ssh, charge), components)
        self.name = f"{SSH}{address}"
        self._address = address
        self._transport = transport
        self._removals = removals
        self._charge = charge
        self._run_folders = run_folders
        self._clock_there = 0.0
        """What is added to our monotonic clock for the time there."""

    @property
    def runner(self) -> CommandRunner:
        """What runs programs there."""
        return self._runner

    def submit(self, submission: Submission) -> JobId:
        """Send the job's files, and have sbatch called there once, however often the connection breaks meanwhile."""
        until = time.monotonic() + SUBMIT_SECONDS
        # Nothing was sent if this fails.
        root = self._tried(until, lambda: self._root, only="E502")
        name = name_there(_run_folder(submission))
        there = f"{root}/{name}"
        try:
            self._send_files(submission, there, until)
        except BaseException:
            if not submission.attempt:
                # Whether it has its name there is not known: the answer may be what was lost.
                self._remove(f".new-{name}", name)
            raise
        attempt = f"{there}/attempts/{submission.attempt}"
        moved = replace(
            submission,
            script=Path(attempt, "job.sbatch"),
            folder=Path(there),
            log=Path(attempt, "slurm.log"),
        )
        argv = commands.sbatch(moved, own_script=submission.script)
        answer = f"{attempt}/sbatch-{submission.tag}"
        self._tidy()
        done = self._call_once(argv, answer, until)
        try:
            return self._submitted(argv, self._heard(argv, done))
        except BackendError as error:
            # Until this is done, the same call gives the same answer.
            goes = error.is_refusal and not submission.attempt
            self._remove(name if goes else answer.removeprefix(f"{root}/"))
            raise

    def _tried(self, until: float, call: Callable[[], T], *, only: str = "") -> T:
        """Return what a call brings, which is made again until then where it does not get through.

        With `only` that is so of errors with this code alone.
        """
        words = ""
        for pause in _pauses(until):
            try:
                return call()
            except UnreachableError as error:
                if only and error.diagnostics[0].code != only:
                    raise
                words = error.diagnostics[0].message
            time.sleep(pause)
        raise errors.not_reached(self._address, words)

    def _send_files(self, submission: Submission, there: str, until: float) -> None:
        """Write the folder of the job there, or of another attempt of it; nothing was submitted if this fails."""
        target = f"{there}/attempts/{submission.attempt}" if submission.attempt else there
        files = list(_files(submission))
        if any(path.startswith(f"{SECRETS}/") for _, path in files):
            _mark(submission.folder).parent.mkdir(mode=0o700, exist_ok=True)
            _mark(submission.folder).touch(mode=0o600)
        self._tried(until, lambda: upload(self._ssh, self._transport, files, target))
        # They are of use there alone.
        rmtree(submission.folder / SECRETS, ignore_errors=True)

    def _call_once(self, argv: Sequence[str], answer: str, until: float) -> Outcome:
        """Call sbatch there unless an earlier call was heard, and return how it ended.

        A call that arrives late does nothing: by then it may have been said that the job was never taken.
        """
        latest = self._clock_there + until
        command = remote_script("submit", answer, str(SBATCH_SECONDS), f"{latest:.0f}", *argv)
        for pause in _pauses(until):
            end = call_end(None, "")
            try:
                done = self._ssh.exchange(command, timeout=SBATCH_SECONDS + SHORT)
                end = call_end(done.status, done.stderr.decode(errors="replace"))
            except UnreachableError:
                # Whatever keeps us from it now, an earlier call may have been heard.
                time.sleep(pause)
                continue
            finally:
                self._charge(argv, 0.0, end)
            return done
        raise errors.broken(self._address, argv[0])

    def _heard(self, argv: Sequence[str], done: Outcome) -> Completed:
        """Return what sbatch said there, or raise that it said nothing."""
        if done.status == _NO_ANSWER:
            raise silent(argv, SBATCH_SECONDS)
        if done.status == _TOO_LATE:
            raise errors.not_reached(self._address, f"it answered after more than {SUBMIT_SECONDS:.0f} s")
        return completed(self._address, argv, done, SBATCH_SECONDS)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of jobs, once what they have said there is here: an end is not judged without."""
        found = super().observe(ids)
        if not ids:
            return found
        ahead = round(self._bring(self._run_folders(ids, ())).ahead)
        self._tidy()
        return {job_id: _shifted(seen, ahead) for job_id, seen in found.items()}

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs of these tags; what they have said there is here then."""
        found = super().find(tags)
        if tags:
            self._bring(self._run_folders((), tags))
        return found

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:
        """Bring what has come there."""
        return self._bring(tuple(run_folders)).anything

    def folder(self, run_folder: RunFolder) -> Path:
        """Return where the job's folder is there."""
        return Path(self._root, name_there(run_folder))

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        """Run a command there with the streams of this process."""
        check_cluster(job_id)
        return self._transport.attach(attached(argv), terminal=terminal)

    def forget(self, run_folder: RunFolder) -> None:
        """Remove the secrets of a job there; what cannot be done now is done later."""
        mark = _mark(run_folder.folder)
        if mark.exists():
            name = name_there(run_folder)
            self._remove(f"{name}/{SECRETS}", f".new-{name}")
            mark.unlink(missing_ok=True)

    def remove_folder(self, run_folder: RunFolder, below: Sequence[str] = ("",)) -> bool:
        """Remove the folder of a job there, or what is `below` it; tell whether it is gone.

        What cannot be removed now is removed when the login node answers again.
        """
        names = [f"{name_there(run_folder)}{path}" for path in below]
        self._remove(*names)
        return not set(names) & set(self._removals.due())

    @cached_property
    def _root(self) -> str:
        """The folder there of all jobs that come from elsewhere."""
        done = self._ssh.exchange(remote_script("root"), timeout=SHORT)
        if done.status:
            words = done.stderr.decode(errors="replace")
            raise errors.not_reached(self._address, f"no folder can be made there: {words}")
        found = _ROOT.fullmatch(done.stdout.decode(errors="surrogateescape"))
        if found is None:
            raise errors.no_answer(self._address, "where jobs can be kept there")
        self._clock_there = float(found[2]) - time.monotonic()
        return found[1]

    def _bring(self, run_folders: Sequence[RunFolder]) -> Brought:
        brought, anything = NOTHING, False
        try:
            for first in range(0, len(run_folders), FOLDERS):
                brought = bring(self._address, self._ssh, run_folders[first : first + FOLDERS], self._root)
                anything = anything or brought.anything
        except OSError as error:
            raise errors.not_kept(error) from None
        return brought._replace(anything=anything)

    def _remove(self, *names: str) -> None:
        """Have paths below the folder of all jobs there removed, as soon as that can be done."""
        self._removals.add(*names)
        self._tidy()

    def _tidy(self) -> None:
        paths = self._removals.due()
        if paths:
            with suppress(BackendError):
                done = self._ssh.exchange(remote_script("remove", self._root, *paths), timeout=SHORT)
                if not done.status:
                    self._removals.done(paths)


def _run_folder(submission: Submission) -> RunFolder:
    """Return the run folder of an attempt that is being submitted."""
    return RunFolder(folder=submission.folder, job=submission.job, tag=submission.tag, attempt=submission.attempt)


def _files(submission: Submission) -> Iterator[tuple[Path, str]]:
    """Yield what is sent: of a first attempt all that the job has but its journal, of another one its script."""
    if submission.attempt:
        yield submission.script, submission.script.name
        return
    for path in sorted(submission.folder.rglob("*")):
        name = str(path.relative_to(submission.folder))
        if path.is_file() and name not in KEPT_HERE and not name.startswith(f"{THERE}/"):
            yield path, name


KEPT_HERE = ("journal.jsonl", "monitor-call")
"""What is of no use there: whoever follows the journal is here."""


def _mark(folder: Path) -> Path:
    """Return the file that says that a job has secrets there."""
    return folder / THERE / SECRETS


def _pauses(until: float) -> Iterator[float]:
    """Yield growing pauses until a time has come, at least one."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        if time.monotonic() > until:
            return
        pause = min(MAX_PAUSE, 2 * pause)


def _shifted(seen: Observation, ahead: int) -> Observation:
    """Return an observation with the times of our clock, which is `ahead` of the one there."""
    times = {name: getattr(seen, name) for name in ("submitted", "started", "ended")}
    return replace(seen, **{name: time + ahead for name, time in times.items() if time is not None})

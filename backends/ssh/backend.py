"""Run scripts with Slurm at a login node, over SSH; nothing of paislurm is installed remote.

The job folder is remote, below `~/.paislurm/remote`. The journal is local, and the files that the monitor and users
read are copied here. So everything else works as on the login node.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, UnreachableError
from paislurm.translator.files.names import BATCH_LOG, SCRIPT, SECRETS
from paislurm.translator.files.private import make_private, remove, remove_tree, touch

from ..base import RunFolder
from ..registry import SSH
from ..runner import LoggingRunner, call_end, silent
from ..slurm import commands
from ..slurm.backend import SlurmBackend, check_cluster
from . import faults
from .mirrored import NOTHING, THERE, bring
from .remote_files import upload
from .ssh_runner import SshRunner, attached, completed, remote_script

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ..base import Accepted, JobId, Observation, RunFolders, Submission
    from ..runner import CommandRunner, Completed, LogCall
    from .mirrored import Brought
    from .remote_files import Removals
    from .ssh_runner import Outcome
    from .transport import Address, Transport

T = TypeVar("T")

SUBMIT_SECONDS = 90.0
"""How long a submit reopens a broken connection. A job that is unknown after 180 s was never taken."""
SBATCH_SECONDS = 60
SHORT = 30.0
FIRST_PAUSE, MAX_PAUSE = 0.5, 8.0
FOLDERS = 50
"""The number of jobs whose folders are open at a time: each uses five of the process's thousand files."""
_NO_ANSWER, _TOO_LATE = 75, 74
_ROOT = re.compile(r"(/[^\0\n]*)\n([0-9]{1,11}(?:\.[0-9]{1,20})?)\n?")
"""The output of the script `root`: a path, and the remote time."""


class SshBackend(SlurmBackend):
    """Submit, observe and cancel through Slurm's programs at a login node.

    `run_folders` returns the run folders of jobs by ids and tags; `log_call` logs each call, as for BilledRunner.
    """

    def __init__(
        self,
        address: Address,
        transport: Transport,
        removals: Removals,
        components: Callable[[JobId], int],
        log_call: LogCall,
        run_folders: RunFolders,
    ) -> None:
        self._ssh = SshRunner(address, transport)
        super().__init__(LoggingRunner(self._ssh, log_call), components, run_folders=run_folders)
        self.name = f"{SSH}{address}"
        self._address = address
        self._transport = transport
        self._removals = removals
        self._log_call = log_call
        self._remote_clock = 0.0
        """The remote time minus our monotonic clock."""

    @property
    def runner(self) -> CommandRunner:
        """The runner of remote programs."""
        return self._runner

    def submit(self, submission: Submission) -> Accepted:
        """Send the job's files and call sbatch once, even if the connection breaks meanwhile."""
        until = time.monotonic() + SUBMIT_SECONDS
        # If this fails, nothing has been sent.
        root = self._retried(until, lambda: self._root, only="E502")
        name = _run_folder(submission).remote_name
        remote = f"{root}/{name}"
        try:
            self._send_files(submission, remote, until)
        except BaseException:
            if not submission.attempt:
                # The folder may or may not have its final name: the answer may have been lost.
                self._remove(f".new-{name}", name)
            raise
        attempt = f"{remote}/attempts/{submission.attempt}"
        moved = replace(
            submission,
            script=Path(attempt, SCRIPT),
            folder=Path(remote),
            log=Path(attempt, BATCH_LOG),
        )
        argv = commands.sbatch(moved, own_script=submission.script)
        answer = f"{attempt}/sbatch-{submission.tag}"
        self._tidy()
        done = self._call_once(argv, answer, until)
        try:
            return self._submitted(argv, self._sbatch_output(argv, done))
        except BackendError as error:
            # Until the answer is removed, the same call returns it again.
            is_refused_job = error.is_refusal and not submission.attempt
            self._remove(name if is_refused_job else answer.removeprefix(f"{root}/"))
            raise

    def _retried(self, until: float, call: Callable[[], T], *, only: str = "") -> T:
        """Return the result of a call, repeated until `until` while the login node is unreachable.

        With `only`, repeat only after errors with this code.
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
        raise faults.not_reached(self._address, words)

    def _send_files(self, submission: Submission, remote: str, until: float) -> None:
        """Write the job's remote folder, or that of a further attempt; if this fails, nothing was submitted."""
        target = f"{remote}/attempts/{submission.attempt}" if submission.attempt else remote
        files = list(_files(submission))
        if any(path.startswith(f"{SECRETS}/") for _, path in files):
            make_private(_mark(submission.folder).parent)
            touch(_mark(submission.folder))
        self._retried(until, lambda: upload(self._ssh, self._transport, files, target))
        # Only the remote job needs the secrets.
        remove_tree(submission.folder / SECRETS)

    def _call_once(self, argv: Sequence[str], answer: str, until: float) -> Outcome:
        """Call the remote sbatch unless an earlier call arrived. Return how it ended.

        A call that arrives after `until` does nothing: by then the submit may have been reported as failed.
        """
        latest = self._remote_clock + until
        command = remote_script("submit", answer, str(SBATCH_SECONDS), f"{latest:.0f}", *argv)
        for pause in _pauses(until):
            end = call_end(None, "")
            try:
                done = self._ssh.exchange(command, timeout=SBATCH_SECONDS + SHORT)
                end = call_end(done.status, done.stderr.decode(errors="replace"))
            except UnreachableError:
                # Retry after any error: an earlier call may have arrived.
                time.sleep(pause)
                continue
            finally:
                self._log_call(argv, 0.0, end)
            return done
        raise faults.broken(self._address, argv[0])

    def _sbatch_output(self, argv: Sequence[str], done: Outcome) -> Completed:
        """Return the output of the remote sbatch. Raises UnreachableError if there is none."""
        if done.status == _NO_ANSWER:
            raise silent(argv, SBATCH_SECONDS)
        if done.status == _TOO_LATE:
            raise faults.not_reached(self._address, f"the answer took more than {SUBMIT_SECONDS:.0f} s")
        return completed(self._address, argv, done, SBATCH_SECONDS)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of jobs and fetch their files first: an end is judged by them."""
        found = super().observe(ids)
        if not ids:
            return found
        ahead = round(self._bring(self._run_folders(ids, ())).ahead)
        self._tidy()
        return {job_id: _shifted(seen, ahead) for job_id, seen in found.items()}

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs with these tags, and fetch their files."""
        found = super().find(tags)
        if tags:
            self._bring(self._run_folders((), tags))
        return found

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:
        """Copy new files from the login node. Return whether any arrived."""
        return self._bring(tuple(run_folders)).anything

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the job's remote folder."""
        return Path(self._root, run_folder.remote_name)

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        """Run a remote command with the streams of this process."""
        check_cluster(job_id)
        return self._transport.attach(attached(argv), terminal=terminal)

    def forget(self, run_folder: RunFolder) -> None:
        """Remove the remote secrets of a job, now or when the login node responds again."""
        mark = _mark(run_folder.folder)
        if mark.exists():
            name = run_folder.remote_name
            self._remove(f"{name}/{SECRETS}", f".new-{name}")
            remove(mark)

    def remove_folder(self, run_folder: RunFolder, below: Sequence[str] = ("",)) -> bool:
        """Remove a job's remote folder, or the paths `below` it. Return whether all of it is gone.

        If the login node does not respond, the removal happens later.
        """
        names = [f"{run_folder.remote_name}{path}" for path in below]
        self._remove(*names)
        return not set(names) & set(self._removals.due())

    @cached_property
    def _root(self) -> str:
        """The remote folder of all jobs submitted over SSH."""
        done = self._ssh.exchange(remote_script("root"), timeout=SHORT)
        if done.status:
            words = done.stderr.decode(errors="replace")
            raise faults.not_reached(self._address, f"cannot make a folder: {words}")
        found = _ROOT.fullmatch(done.stdout.decode(errors="surrogateescape"))
        if found is None:
            raise faults.no_answer(self._address)
        self._remote_clock = float(found[2]) - time.monotonic()
        return found[1]

    def _bring(self, run_folders: Sequence[RunFolder]) -> Brought:
        brought, anything = NOTHING, False
        try:
            for first in range(0, len(run_folders), FOLDERS):
                brought = bring(self._address, self._ssh, run_folders[first : first + FOLDERS], self._root)
                anything = anything or brought.anything
        except OSError as error:
            raise faults.not_kept(error) from None
        return brought._replace(anything=anything)

    def _remove(self, *names: str) -> None:
        """Remove paths below the remote root as soon as possible."""
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
    return RunFolder(folder=submission.folder, job=submission.job, tag=submission.tag, attempt=submission.attempt)


def _files(submission: Submission) -> Iterator[tuple[Path, str]]:
    """Yield the files to send: the job folder without its journal for a first attempt, else only the script."""
    if submission.attempt:
        yield submission.script, submission.script.name
        return
    for path in sorted(submission.folder.rglob("*")):
        name = str(path.relative_to(submission.folder))
        if path.is_file() and name not in KEPT_HERE and not name.startswith(f"{THERE}/"):
            yield path, name


KEPT_HERE = ("journal.jsonl", "monitor-call")
"""Files that are not sent: only local processes read the journal."""


def _mark(folder: Path) -> Path:
    """Return the file that marks a job with remote secrets."""
    return folder / THERE / SECRETS


def _pauses(until: float) -> Iterator[float]:
    """Yield growing pauses until a time on the monotonic clock, at least one."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        if time.monotonic() > until:
            return
        pause = min(MAX_PAUSE, 2 * pause)


def _shifted(seen: Observation, ahead: int) -> Observation:
    """Return an observation with times of our clock, which is `ahead` seconds ahead of the remote one."""
    times = {name: getattr(seen, name) for name in ("submitted", "started", "ended")}
    return replace(seen, **{name: time + ahead for name, time in times.items() if time is not None})

"""The one protocol that every backend follows, and the plain types it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NewType, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    Options = Sequence[Mapping[str, str]]
    """What each component of a job has, by the names of sbatch."""

JobId = NewType("JobId", str)
"""What names a submitted script: for Slurm the leader's job id, `123`, or of another cluster `123;far`."""


class Submission(Struct, frozen=True, kw_only=True):
    """Hand a script over: `script` is a file, `folder` the job folder, `tag` names this attempt everywhere.

    `job` is the name of the job. The backend runs `script` with the arguments FOLDER ATTEMPT TAG and sends its output
    to `log`; `exclude` are nodes on which it is not to run. It begins no earlier than in `delay` seconds, and if it is
    `held` not before somebody releases it. `environment` is what it is submitted in, None for that of the caller.
    """

    script: Path
    folder: Path
    job: str
    attempt: int
    tag: str
    log: Path
    exclude: tuple[str, ...] = ()
    delay: int = 0
    environment: Mapping[str, str] | None = None
    held: bool = False


class Observation(Struct, frozen=True, kw_only=True):
    """Hold what the backend says of one submitted script, in its own words and in ours.

    `state` is the bare word, `CANCELLED`; `raw_state` the text as it came, `CANCELLED by 1000`; `reason` why
    a pending job waits, and `reasons` why each component does; `expected_start` is
    when the backend expects to start it. `status` and `signal` are None where nothing has ended
    or only the state is known. `final` is true when nothing can change any more: the state is an ending
    and every component is there. `nodes` is a host list. Times are seconds since 1970.
    """

    job_id: JobId
    state: str
    raw_state: str
    final: bool
    status: int | None = None
    signal: int | None = None
    reason: str = ""
    reasons: tuple[str, ...] = ()
    nodes: str = ""
    submitted: int | None = None
    started: int | None = None
    ended: int | None = None
    expected_start: int | None = None


class RunFolder(Struct, frozen=True, kw_only=True):
    """Say which attempt of a job is meant, and where its folder is here; the tag is that of the attempt.

    `names` are files and folders of the attempt's folder, `tasks` the folders of roles with the indexes of tasks, of
    which what has come is wanted.
    """

    folder: Path
    job: str
    tag: str
    attempt: int
    names: tuple[str, ...] = ("claim", "result.json", "slurm.log", "srun", "tasks")
    tasks: tuple[tuple[str, int], ...] = ()


class Backend(Protocol):
    """Run scripts somewhere. Every method raises BackendError or a subclass of it."""

    @property
    def name(self) -> str:
        """The word after `--backend`."""
        ...

    def version(self) -> str:
        """Return what Slurm says of its version, "" where there is no Slurm."""
        ...

    def submit(self, submission: Submission) -> JobId:
        """Start a script; a refusal is RejectedError, no answer UnreachableError."""
        ...

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of these jobs; a job that is not in the answer is not known here."""
        ...

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs that were submitted with these tags, where there are any: ask before submitting again."""
        ...

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are out of order now, each with the reason that is given, or ""."""
        ...

    def cancel(self, *job_ids: JobId) -> None:
        """Ask for the end of jobs; a job that has ended is no error. After an error some may have been cancelled."""
        ...

    def options(self, ids: Collection[JobId]) -> Mapping[JobId, Options]:
        """Return what jobs have of the options that `change` takes, for each component: by the names of sbatch.

        Of what the backend does not know there is nothing.
        """
        ...

    def change(self, job_id: JobId, values: Mapping[str, str], before: Options = ()) -> None:
        """Change options of a job that waits or runs, by the names of sbatch; a refusal is RejectedError.

        `held` is `yes` for a job that is to wait until it is `no`. Of several that were to be changed, the `options` of
        an error are those that the job does not have now: it has the others. An error without them has changed nothing,
        as far as is known. `before` is what the job has had: of what only some components take, these get that back.
        """
        ...

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:
        """Bring what has come in these folders here, where the backend has them elsewhere; tell whether it was any."""
        ...

    def folder(self, run_folder: RunFolder) -> Path:
        """Return where the backend has the folder of a job."""
        ...

    def forget(self, run_folder: RunFolder) -> None:
        """Remove what only a job that lives needs, where the backend has its folder elsewhere."""
        ...

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        """Run a program where the script of a job that runs reaches its tasks, and return its exit status.

        It has our streams, and a terminal if that is wanted. It may not return: this process can become the program.
        """
        ...


class SharedFolders:
    """Be of a backend that reaches the folders of jobs where everybody else does: nothing is brought, or removed."""

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:  # noqa: ARG002 - as in Backend
        """Bring nothing: it is here."""
        return False

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the folder: the nodes have it under the same path."""
        return run_folder.folder

    def forget(self, run_folder: RunFolder) -> None:
        """Remove nothing: who writes the end into the journal has removed the secrets."""

"""The protocol that every backend implements, and its plain types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, NewType, Protocol

from msgspec import Struct, field

from paislurm.translator.files.names import OF_ATTEMPT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from typing import TypeAlias

    Options = Sequence[Mapping[str, str]]
    """The options of each component of a job, by their sbatch names."""
    RunFolders: TypeAlias = Callable[[Collection["JobId"], Collection[str]], Sequence["RunFolder"]]
    """Returns the run folders of jobs by ids and tags."""

LOCAL = "local"
"""The backend that runs scripts on this machine, without Slurm."""
JobId = NewType("JobId", str)
"""The id of a submitted script: `123` for Slurm (the leader's job id), `123;far` for a job of another cluster."""


class Accepted(NamedTuple):
    """A submitted script: its id, and what the backend printed beside it, in one line."""

    job_id: JobId
    notes: str = ""


class Submission(Struct, frozen=True, kw_only=True):
    """Describe a script to submit: `script` is its file, `folder` the job folder, `tag` identifies this attempt.

    `job` is the name of the job. The backend runs `script` with the arguments FOLDER ATTEMPT TAG and writes its
    output to `log`. It avoids the nodes in `exclude`. It starts the script at least `delay` seconds from now; a
    `held` script starts only after its release. `environment` is the environment for the submit; None means the
    caller's.
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
    """Hold the backend's report on one submitted script, in the backend's words and in ours.

    `state` is the bare state, `CANCELLED`; `raw_state` is the original text, `CANCELLED by 1000`. `reason` tells why
    a pending job waits; `reasons` has one entry per component. `expected_start` is the backend's estimate. `status`
    and `signal` are None if nothing has ended or only the state is known. `final` is true if nothing can change any
    more: the state is an ending and every component is present. `nodes` is a host list. `name` is the job's, `tag`
    the tag that it shows, `command` the end of its command line; each "" if not known. `queued` is false if only the
    accounts show an active job: they lag, or the controller has lost it. `options` are the `partition`, `account` and
    `time` limit that the queue shows, by their sbatch names. Times are seconds since 1970.
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
    name: str = ""
    tag: str = ""
    command: str = ""
    queued: bool = True
    options: Mapping[str, str] = field(default_factory=dict)


class RunFolder(Struct, frozen=True, kw_only=True):
    """Identify an attempt of a job and its local folder; `tag` is the tag of the attempt.

    `names` lists files and folders of the attempt's folder to fetch. `tasks` lists tasks whose logs to fetch, as
    pairs of a role folder and a task index.
    """

    folder: Path
    job: str
    tag: str
    attempt: int
    names: tuple[str, ...] = OF_ATTEMPT
    tasks: tuple[tuple[str, int], ...] = ()

    @property
    def remote_name(self) -> str:
        """The name of the job's folder at a login node; its tag makes the name unique."""
        return f"{self.job}.{self.tag.partition('.')[0].removeprefix('paislurm-')}"


class Backend(Protocol):
    """Run scripts. Every method raises BackendError or a subclass of it."""

    @property
    def name(self) -> str:
        """The name used with `--backend`."""
        ...

    def version(self) -> str:
        """Return the version of Slurm, "" for a backend without Slurm."""
        ...

    def submit(self, submission: Submission) -> Accepted:
        """Start a script. Raises RejectedError for a refusal, UnreachableError if the backend does not respond."""
        ...

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return the observations of these jobs. Jobs that the backend does not know are missing."""
        ...

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs submitted with these tags, by tag. Call this before submitting an attempt again."""
        ...

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return the nodes of a host list that are unavailable now, each with the reason given, or ""."""
        ...

    def known_nodes(self, nodes: Collection[str], cluster: str = "") -> frozenset[str]:
        """Return those of some nodes that exist on a cluster, "" for this machine's."""
        ...

    def cancel(self, *job_ids: JobId, names: Mapping[JobId, str] | None = None) -> None:
        """Cancel jobs. A job that has ended is not an error. After an error, some jobs may have been cancelled.

        `names` are the names that the backend shows for jobs now. A job of another name has got the number meanwhile,
        and is not cancelled if the backend can tell.
        """
        ...

    def change(self, job_id: JobId, values: Mapping[str, str]) -> None:
        """Change options, by their sbatch names, of a job that waits or runs. Raises RejectedError for a refusal.

        `held` is `yes` to hold a job and `no` to release it. The `options` of an error are those that were not
        changed; the others were. As far as is known, an error without `options` changed nothing.
        """
        ...

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:
        """Copy new files of these folders from a remote backend. Return whether any arrived."""
        ...

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the path of a job's folder as the backend sees it."""
        ...

    def forget(self, run_folder: RunFolder) -> None:
        """Remove files that only an active job needs from a remote folder."""
        ...

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        """Run a program where the job's script reaches its tasks. Return its exit status.

        The program uses our streams, with a terminal if `terminal` is set. The call may not return: this process may
        become the program.
        """
        ...


class SharedFolders:
    """Implement the folder methods for a backend that shares the file system: they copy and remove nothing."""

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:  # noqa: ARG002 - as in Backend
        """Do nothing: the files are local."""
        return False

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the local path, which is the same on the nodes."""
        return run_folder.folder

    def forget(self, run_folder: RunFolder) -> None:
        """Do nothing: the process that records the end in the journal has removed the secrets."""

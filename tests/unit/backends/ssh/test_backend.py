"""The backend over a connection that loses answers: a stand-in, for a real one loses them when it likes."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from paislurm.backends.base import JobId, RunFolder, Submission
from paislurm.backends.ssh import backend as module
from paislurm.backends.ssh.backend import SshBackend
from paislurm.backends.ssh.remote_files import Removals
from paislurm.backends.ssh.ssh_runner import remote_script
from paislurm.backends.ssh.transport import parse_address
from paislurm.translator.errors import RejectedError
from tests.unit.backends.ssh.here import Here
from tests.unit.inherited import inherit

SBATCH = """echo call >>"$HOME/calls"
if [ -e "$HOME/refuses" ]; then
    echo "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" >&2
    exit 1
fi
echo 123
"""
TAG = "paislurm-00112233445566aa"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home at the login node, with programs that stand for Slurm's."""
    there = Here(tmp_path / "there")
    for name, text in (("sbatch", SBATCH), ("squeue", ""), ("sacct", "")):
        there.program(name, text)
    return tmp_path / "there"


@pytest.fixture
def made(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[SshBackend, Here]]:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)

    def make(*loses: int) -> tuple[SshBackend, Here]:
        transport = Here(home, loses)
        removals = Removals(tmp_path / "to-remove")
        backend = SshBackend(
            parse_address("login1"), transport, removals, lambda _: 1, lambda _, __, ___: None, lambda _, __: ()
        )
        return backend, transport

    return make


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """A job with a secret, and a name that is no word of a shell."""
    folder = tmp_path / "home" / "jobs" / "ann~it's a job"
    for name, text in (
        ("job.yaml", "name: x\n"),
        ("journal.jsonl", "{}\n"),
        ("secrets/word", "hunter2"),
        ("attempts/0/job.sbatch", "#!/bin/bash\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return Submission(
        script=folder / "attempts/0/job.sbatch", folder=folder, job="it's a job", attempt=0, tag=TAG,
        log=folder / "attempts/0/slurm.log",
    )  # fmt: skip


def there(home: Path) -> Path:
    (found,) = [path for path in (home / ".paislurm/remote").iterdir() if path.name[0] != "."]
    return found


@pytest.mark.parametrize("loses", [(), (1,), (2,), (3,), (4,), (2, 3, 4), (4, 5, 6)])
def test_sbatch_is_called_once_whichever_answer_is_lost(
    loses: tuple[int, ...], made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path
) -> None:
    backend, transport = made(*loses)
    assert backend.submit(submission).job_id == JobId("123")
    assert (home / "calls").read_text() == "call\n"
    assert transport.calls > max(loses, default=0)
    assert sorted(path.name for path in there(home).iterdir()) == ["attempts", "job.yaml", "secrets", "umask"]
    for path in there(home).rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert (there(home) / "secrets" / "word").read_text() == "hunter2"
    assert not (submission.folder / "secrets").exists()


def test_remote_secrets_are_removed_soon_after_the_job_ends(
    made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path, tmp_path: Path
) -> None:
    backend, transport = made()
    backend.submit(submission)
    transport.loses = {transport.calls + 1}
    run_folder = RunFolder(folder=submission.folder, job=submission.job, tag=TAG, attempt=0)
    backend.forget(run_folder)
    assert (tmp_path / "to-remove").read_text() == f"{there(home).name}/secrets\n.new-{there(home).name}\n"
    backend.observe([JobId("123")])
    assert not (there(home) / "secrets").exists()
    assert (tmp_path / "to-remove").read_text() == ""


@pytest.mark.parametrize("below", [("",), ("/attempts/0/job.sbatch", "/attempts/0/work")])
def test_remote_files_of_a_removed_job_are_removed_when_reachable(
    made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path, below: tuple[str, ...]
) -> None:
    backend, transport = made()
    backend.submit(submission)
    folder = there(home)
    run_folder = RunFolder(folder=submission.folder, job=submission.job, tag=TAG, attempt=0)
    transport.loses = {transport.calls + 1}
    assert not backend.remove_folder(run_folder, below)
    backend.observe([JobId("123")])
    assert not any(Path(f"{folder}{path}").exists() for path in below)
    assert folder.exists() == (below != ("",))
    assert backend.remove_folder(run_folder)
    assert not folder.exists()


def test_a_refused_submission_leaves_no_files_and_can_be_repeated(
    made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path
) -> None:
    backend, _ = made()
    (home / "refuses").touch()
    secret = (submission.folder / "secrets" / "word").read_text()
    with pytest.raises(RejectedError, match="account"):
        backend.submit(submission)
    assert list((home / ".paislurm/remote").iterdir()) == []
    (home / "refuses").unlink()
    (submission.folder / "secrets").mkdir()
    (submission.folder / "secrets" / "word").write_text(secret)
    assert backend.submit(submission).job_id == JobId("123")


def test_new_output_is_fetched_once_in_chunks(
    made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paislurm.backends.ssh.mirrored.MOST", 1000)
    backend, transport = made()
    backend.submit(submission)
    attempt, here = there(home) / "attempts/0", submission.folder / "attempts/0"
    run_folder = RunFolder(
        folder=submission.folder,
        job=submission.job,
        tag=TAG,
        attempt=0,
        names=("slurm.log", "result.json", "logs/0-a b"),
    )
    assert not backend.fetch([run_folder])
    (attempt / "logs/0-a b").mkdir(parents=True)
    log = attempt / "logs/0-a b/0.stdout.log"
    log.write_bytes(bytes(range(256)) * 20)
    (attempt / "result.json").write_text("x" * 5000)
    before = transport.calls
    assert backend.fetch([run_folder])
    assert transport.calls - before > 5
    fetched = here / "logs/0-a b/0.stdout.log"
    assert (fetched.read_bytes(), (here / "result.json").read_text()) == (log.read_bytes(), "x" * 5000)
    with log.open("ab") as file:
        file.write(b"more")
    assert backend.fetch([run_folder])
    assert fetched.read_bytes() == log.read_bytes()
    # The job cuts its own log short, and writes its result anew.
    log.write_bytes(b"anew")
    (attempt / "new").write_text("y")
    (attempt / "new").rename(attempt / "result.json")
    assert backend.fetch([run_folder])
    assert (fetched.read_bytes(), (here / "result.json").read_text()) == (b"anew", "y")
    assert not backend.fetch([run_folder])
    # What is no file is not brought, and what is lost here is brought again.
    os.mkfifo(attempt / "slurm.log")
    (here / "result.json").unlink()
    assert backend.fetch([run_folder])
    assert ((here / "slurm.log").exists(), (here / "result.json").read_text()) == (False, "y")


def test_a_job_that_version_0_2_0_renamed_still_receives_its_remote_files(
    made: Callable[..., tuple[SshBackend, Here]], submission: Submission, home: Path
) -> None:
    backend, _ = made()
    backend.submit(submission)
    (there(home) / "attempts/0/result.json").write_text("y")
    moved = submission.folder.with_name("ann~it's a job.1")
    submission.folder.rename(moved)
    assert backend.fetch([RunFolder(folder=moved, job=submission.job, tag=f"{TAG}.3", attempt=0)])
    assert (moved / "attempts/0/result.json").read_text() == "y"


def root_of(home: Path) -> subprocess.CompletedProcess[str]:
    """Make the folder for all jobs as at a login node, and return what is printed."""
    argv = remote_script("root")
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, umask=0, timeout=60)


@pytest.mark.parametrize(
    ("mode", "above", "said"),
    [
        (0o755, 0o755, ""),
        (0o2755, 0o2755, ""),
        (0o700, 0o1777, ""),
        (0o755, 0o2775, "others can write to ABOVE (mode 2775)"),
        (0o777, 0o755, "others can write to ABOVE/there (mode 0777)"),
    ],
)
def test_a_remote_folder_that_others_can_replace_is_refused(home: Path, mode: int, above: int, said: str) -> None:
    """A folder below a setgid one has that bit, too, and is as private."""
    home.chmod(mode)
    home.parent.chmod(above)
    done = root_of(home)
    assert done.returncode == (73 if said else 0), done.stderr
    assert said.replace("ABOVE", str(home.parent)) in done.stderr
    if not said:
        assert done.stdout.startswith(f"{home}/.paislurm/remote\n")
        for folder in (home / ".paislurm", home / ".paislurm/remote"):
            assert stat.S_IMODE(folder.stat().st_mode) & 0o777 == 0o700
        (home / ".paislurm/remote").chmod(0o750)
        assert "remote is accessible to other users" in root_of(home).stderr


def test_a_default_acl_does_not_open_the_remote_folder(home: Path) -> None:
    inherit(home, 21002)
    assert root_of(home).returncode == 0
    for folder in (home / ".paislurm", home / ".paislurm/remote"):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o777 == 0o700

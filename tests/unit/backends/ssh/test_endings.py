"""What of a job is left at a login node that answers badly, and what may be asked of it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from paislurm.backends.base import RunFolder, Submission
from paislurm.backends.ssh import backend as ssh
from paislurm.backends.ssh.backend import SshBackend
from paislurm.backends.ssh.mirrored import NOTHING, Brought, bring
from paislurm.backends.ssh.program import ProgramTransport
from paislurm.backends.ssh.remote_files import Removals
from paislurm.backends.ssh.ssh_runner import SshRunner
from paislurm.backends.ssh.transport import Address, choose_transport
from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, UnreachableError
from tests.unit.backends.ssh.here import Here
from tests.unit.written_files import write_files

HOST = Address(host="login1")
TAG = "paislurm-1a2b"
FULL = "[[ $1 != --version ]] || exit; echo 'sbatch: error: Slurm job queue full, sleeping and retrying' >&2; sleep 600"
NOBODY = "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1"


@pytest.fixture
def login(tmp_path: Path) -> Here:
    return Here(tmp_path / "there")


@pytest.fixture
def made(tmp_path: Path, login: Here, monkeypatch: pytest.MonkeyPatch) -> SshBackend:
    # Each step has one try, and no deadline that a busy machine could miss.
    monkeypatch.setattr(ssh, "_pauses", lambda _: [0.0])
    monkeypatch.setattr(ssh, "SBATCH_SECONDS", 2)
    removals = Removals(tmp_path / "to-remove")
    return SshBackend(HOST, login, removals, lambda _: 1, lambda *_: None, lambda *_: ())


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    folder = tmp_path / "job"
    scripts = {f"attempts/{number}/job.sbatch": "true" for number in (0, 1)}
    write_files(folder, scripts | {"secrets/key": "hush"})
    return _attempt(folder, 0)


def _attempt(folder: Path, number: int) -> Submission:
    return Submission(
        script=folder / f"attempts/{number}/job.sbatch",
        folder=folder,
        job="job",
        attempt=number,
        tag=f"{TAG}.{number}" if number else TAG,
        log=folder / f"attempts/{number}/slurm.log",
    )


@pytest.mark.parametrize(
    ("sbatch", "breaks_at", "code", "remains"),
    [
        pytest.param(NOBODY, "", "E506", [], id="Slurm does not answer"),
        pytest.param("echo 'sbatch: error: invalid partition specified: x' >&2; exit 1", "", "E503", [], id="refused"),
        pytest.param("exit 127", "", "E501", [], id="no sbatch"),
        pytest.param(FULL, "", "E508", [], id="waits to try again"),
        # It may have submitted the job.
        pytest.param("sleep 9", "", "E502", ["job.1a2b"], id="silent"),
        pytest.param("kill -KILL $$", "", "E502", ["job.1a2b"], id="killed"),
        pytest.param("", "sha256sum", "E550", [], id="files not confirmed"),
        pytest.param("", "umask 077\nrm -rf", "E550", [], id="folder not confirmed"),
    ],
)
def test_remote_files_stay_only_if_the_job_may_have_been_submitted(
    made: SshBackend, login: Here, submission: Submission, sbatch: str, breaks_at: str, code: str, remains: list[str]
) -> None:
    login.program("squeue", "")
    login.program("sacct", "echo 'JobID|Comment|SubmitLine'")
    if sbatch:
        login.sbatch(sbatch)
    login.breaks_at = breaks_at
    with pytest.raises(BackendError) as caught:
        made.submit(submission)
    assert (caught.value.diagnostics[0].code, login.remains) == (code, remains)


@pytest.mark.parametrize(
    ("said", "error"), [(NOBODY, "E506"), ("echo 'Socket timed out on send/recv operation' >&2; exit 1", "E502")]
)
def test_a_retry_refused_by_slurm_is_submitted_again(
    made: SshBackend, login: Here, submission: Submission, said: str, error: str
) -> None:
    login.sbatch("echo 7")
    assert made.submit(submission).job_id == "7"
    login.sbatch(said)
    with pytest.raises(UnreachableError) as caught:
        made.submit(_attempt(submission.folder, 1))
    assert caught.value.diagnostics[0].code == error
    login.sbatch("echo 8")
    assert made.submit(_attempt(submission.folder, 1)).job_id == "8"
    assert (login.home / ".paislurm/remote/job.1a2b/secrets/key").read_text() == "hush"


def test_all_attempts_use_the_umask_of_the_login_shell_that_submitted_the_first(
    made: SshBackend, login: Here, submission: Submission
) -> None:
    profile = login.home / ".bash_profile"
    text = profile.read_text()
    for attempt, umask in enumerate(("0002", "0077")):
        profile.write_text(f"{text}umask {umask}\n")
        login.sbatch(f"echo {attempt}")
        made.submit(_attempt(submission.folder, attempt))
        file = login.home / ".paislurm/remote/job.1a2b/umask"
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("0002\n", 0o600)


def test_a_lost_answer_is_read_later(made: SshBackend, login: Here, submission: Submission) -> None:
    login.sbatch('echo call >>"$HOME/calls"; echo 7')
    login.breaks_at = "setsid"
    with pytest.raises(UnreachableError):
        made.submit(submission)
    login.breaks_at = ""
    assert made.submit(submission).job_id == "7"
    assert (login.home / "calls").read_text() == "call\n"


@pytest.mark.parametrize("error", [RejectedError(Diagnostic(code="E510", message="full")), KeyboardInterrupt()])
def test_incompletely_transferred_files_are_removed(
    made: SshBackend, login: Here, submission: Submission, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def upload(_: object, __: object, ___: object, name: str) -> None:
        Path(name).with_name(f".new-{Path(name).name}").mkdir()
        raise error

    monkeypatch.setattr(ssh, "upload", upload)
    with pytest.raises(type(error)):
        made.submit(submission)
    assert login.remains == []


def test_sbatch_is_not_called_if_its_answer_cannot_be_saved(
    made: SshBackend, login: Here, submission: Submission
) -> None:
    login.sbatch("echo 7")
    made.submit(submission)
    retry = _attempt(submission.folder, 1)
    made._send_files(retry, f"{made._root}/job.1a2b", 0.0)
    (login.home / f".paislurm/remote/job.1a2b/attempts/1/sbatch-{retry.tag}").write_text("in the way")
    with pytest.raises(RejectedError, match="File exists"):
        made.submit(retry)


def test_files_that_cannot_be_removed_stay_on_the_list(made: SshBackend, login: Here, submission: Submission) -> None:
    login.sbatch(f"mkdir {login.home}/bin/x; printf '#!/bin/bash\\nexit 1\\n' >{login.home}/bin/rm; "
                 f"chmod +x {login.home}/bin/rm; {NOBODY}")  # fmt: skip
    with pytest.raises(BackendError):
        made.submit(submission)
    assert made._removals.due() == ["job.1a2b"]
    (login.home / "bin/rm").unlink()
    made._tidy()
    assert made._removals.due() == []


def test_the_number_of_open_folders_is_limited(made: SshBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def brought(_: object, __: object, run_folders: Sequence[RunFolder], ___: object) -> Brought:
        seen.append(len(run_folders))
        return NOTHING._replace(anything=len(seen) == 1)

    monkeypatch.setattr(ssh, "bring", brought)
    assert made.fetch([RunFolder(folder=Path(str(n)), job="j", tag=TAG, attempt=0) for n in range(120)])
    assert seen == [50, 50, 20]


def test_an_answer_with_a_false_promise_of_more_data_is_endless(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    runner = SimpleNamespace(exchange=lambda *_, **__: SimpleNamespace(stdout=b"end 1 1\0"))
    with pytest.raises(UnreachableError, match="endless output"):
        bring(HOST, cast("SshRunner", runner), [RunFolder(folder=tmp_path / "job", job="j", tag=TAG, attempt=0)], "/r")


def test_without_the_ssh_program_there_is_no_connection_to_share(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ProgramTransport(HOST).has_master() is False
    assert choose_transport(HOST, "auto").name in ("fabric", "ssh")

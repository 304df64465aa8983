"""A login node that answers every question badly: no answer ends in an internal error."""

from __future__ import annotations

import re
import threading
from base64 import b64decode
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from paislurm.backends import bounded_run
from paislurm.backends.base import JobId, RunFolder, Submission
from paislurm.backends.runner import LocalRunner
from paislurm.backends.slurm.expected_start import ask_start
from paislurm.backends.ssh import backend as ssh
from paislurm.backends.ssh import fabric_transport
from paislurm.backends.ssh.backend import SshBackend
from paislurm.backends.ssh.mirrored import mirrored
from paislurm.backends.ssh.program import ProgramTransport
from paislurm.backends.ssh.remote_files import Removals
from paislurm.backends.ssh.transport import Address, Sent
from paislurm.translator.app.sites.ask import ask, machine_of
from paislurm.translator.app.task_facts import usages_of_steps
from paislurm.translator.errors import BackendError, RejectedError, UnreachableError
from paislurm.translator.site.detection.detect import detect
from paislurm.translator.site.detection.profile_text import profile_text
from paislurm.translator.site.load import load_site

ID, TAG = JobId("123"), "paislurm-1a2b"
ANSWERS: dict[str, bytes] = {
    # The scripts that are sent, by a text in them.
    "PAISLURM_HOME:-": b"/there\n1700000000.0\n",
    "sha256sum --quiet": b"",
    "setsid --fork": b"123\n",
    "shopt -s nullglob": b"folder /there/job.1a2b/attempts/0\0file 1 4 1700000000.0 0 4 slurm.log\0text"
    b"end 1700000001.0 0\0",
    'rm -rf -- "${@:2}"': b"",
    'mkdir -- "$1"': b"",
    "ip_local_port_range": b"alice\n32768\t60999\n/usr/bin/podman\n",
    # Programs, the ones first that have another's name in their words.
    "sbatch --version": b"slurm 22.05.8\n",
    "sacctmgr --parsable2 --readonly show users": b"Def Acct|Account|Partition|QOS|Def QOS|MaxJobs|MaxSubmit|MaxWall"
    b"|MaxTRES|GrpTRES|GrpJobs|GrpSubmit\nlab|lab||normal|normal|1|2|1-00:00:00|cpu=1|node=1|3|4\n",
    "sacctmgr --parsable2 --readonly show qos": b"Name|Flags|MaxWall|MaxJobsPU|MaxSubmitPU|MaxTRES|MaxTRESPU|GrpTRES"
    b"|GrpJobs|GrpSubmit\nnormal||1-00:00:00|1|2|cpu=1|cpu=1|cpu=1|1|1\n",
    "sacct --allocations --parsable2 --jobs": b"JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment"
    b"|Reason\n125|125|FAILED|1:0|1700000000|1700000001|1700000002|n1|||None\n",
    "sacct": b"JobID|Comment|SubmitLine\n126|paislurm-9|sbatch paislurm-9\n",
    "squeue --noheader --me --states=all '--format=%i|%t|%k|%o'": b"123|PD|paislurm-1a2b|\n",
    "'--format=%i|%l": b"123|1:00:00|normal|lab|normal|0\n",
    "squeue --noheader --states=all": b"123|123|RUNNING|1700000000|1700000001|1700000002|n1||||||None\n",
    "squeue": b"7|normal|1|1|cpu=1,gres/gpu=1|gres:gpu:1|||Priority|\n",
    "sinfo --noheader --Node --nodes": b"n1 down* broken\n",
    "sinfo": b"n1|normal*|up|idle|gpu:v100:4|gpu:v100:0|0/32/0/32|1000|0|\n",
    "scancel": b"",
    "sstat": b"123.0|1|00:00:01|1000K|1000K|cpu=00:00:01\n",
    "srun --mpi=list": b"MPI plugin types are...\nnone\npmix_v4\n",
    "show config": b"ClusterName = big\nSLURM_VERSION = 22.05.8\nKillWait = 30 sec\n"
    b"AccountingStorageType = accounting_storage/slurmdbd\n",
    "show partition": b"PartitionName=normal Default=YES MaxTime=1-00:00:00 State=UP TotalNodes=1 Nodes=n1\n",
    "show node": b"NodeName=n1 CPUTot=32 RealMemory=1000 Gres=gpu:v100:4 State=IDLE Partitions=normal\n",
    "show reservation": b"ReservationName=later Nodes=n1 Users=alice State=ACTIVE\n",
    "show job": b"JobId=123 JobName=a Reboot=0 ExitCode=1:0 RunTime=1\n",
    "scontrol": b"",
    "getent": b"10.0.0.1 STREAM n1\n",
    "sbatch --test-only": b"",
}
"""What a login node answers that is well."""
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut short": lambda good: good[: len(good) // 2],
    "binary": lambda _: bytes(range(256)) * 4,
    "NUL": lambda good: good.replace(b"1", b"\0") + b"\0",
    "half a character": lambda good: b"\xed\xa0\x80\xff" + good.replace(b"|", b"|\xed\xa0\x80"),
    "numbers": lambda _: b"\n".join([b"9" * 5000, b"1e999", b"nan", b"-1", b"9" * 5000 + b"|" + b"9" * 5000]) + b"\n",
    "number for each": lambda good: b"|".join([b"9" * 5000] * (good.count(b"|") + 1)) + b"\n",
    "header and numbers": lambda good: good.partition(b"\n")[0] + b"\n" + b"|".join([b"9" * 40] * 20) + b"\n",
    "long numbers": lambda good: re.sub(rb"[0-9]+", b"9" * 5000, good),
    "large numbers": lambda good: re.sub(rb"[0-9]+", b"9" * 15, good),
    "other digits": lambda good: re.sub(rb"[0-9]", "\u0663\u00b2".encode(), good),
    "columns": lambda _: b"a|b\n1|2|3\n" + b"|" * 40 + b"\n",
    "one word": lambda _: b"yes\n",
    "html": lambda _: b"<html><body><h1>502 Bad Gateway</h1></body></html>\n",
    "banner": lambda good: b"*** Welcome to big ***\nUse is monitored.\n\n" + good,
    "twice": lambda good: good + good,
}


class Liar:
    """A login node that answers well, but for the question `about`; it is a transport of SshBackend."""

    name = "liar"

    def __init__(self) -> None:
        self.about = ""
        self.form: Callable[[bytes], bytes] = bytes
        self.status = b"0"
        self.lies = 0

    def exchange(self, line: str, stdin: bytes, timeout: float, enough: object) -> tuple[bytes, bytes]:
        del line, timeout, enough
        script = b64decode(stdin.split()[1]).decode()
        mark = script.partition("printf '\\n%s\\n' ")[2].split()[0].encode()
        text = next(text for text in ANSWERS if text in script)
        words, status = ANSWERS[text], b"0"
        if self.about == text:
            self.lies += 1
            words, status = self.form(words), self.status
            if status == b"unframed":
                return words, words
        return b"\n%b\n%b\n%b %b\n" % (mark, words, mark, status), b"\n%b\n%b" % (mark, words)

    def put(self, files: Sequence[Sent], timeout: float) -> None:
        """Take files."""

    def attach(self, line: str, *, terminal: bool) -> int:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "_pauses", lambda _: [0.0])


def made(folder: Path, login: Liar) -> tuple[SshBackend, Submission]:
    """Return a backend with nothing known yet, and a job to submit with it, all below a new folder."""
    script = folder / "job/attempts/0/job.sbatch"
    for file in (script, folder / "job/secrets/key"):
        file.parent.mkdir(parents=True)
        file.write_text("true")
    job = folder / "job"
    submission = Submission(script=script, folder=job, job="job", attempt=0, tag=TAG, log=script.with_name("slurm.log"))
    folders, removals = (_run_folder(folder),), Removals(folder / "to-remove")
    backend = SshBackend(Address(host="login1"), login, removals, lambda _: 1, lambda *_: None, lambda *_: folders)
    return backend, submission


def _run_folder(folder: Path) -> RunFolder:
    return RunFolder(folder=folder / "job", job="job", tag=TAG, attempt=0)


def _detect(backend: SshBackend) -> None:
    machine, user = machine_of(backend.runner)
    load_site(profile_text(detect(ask(backend.runner, backend.runner, machine, user))), file="site.yaml")


Call = Callable[[SshBackend, Submission], object]
QUESTIONS: dict[str, Call] = {
    "sbatch --version": lambda backend, _: backend.version(),
    "PAISLURM_HOME:-": lambda backend, submission: backend.submit(submission),
    'mkdir -- "$1"': lambda backend, submission: backend.submit(submission),
    "sha256sum --quiet": lambda backend, submission: backend.submit(submission),
    "setsid --fork": lambda backend, submission: backend.submit(submission),
    "squeue --noheader --states=all": lambda backend, _: backend.observe([ID]),
    "sacct --allocations --parsable2 --jobs": lambda backend, _: backend.observe([JobId("125")]),
    "squeue --noheader --me --states=all '--format=%i|%t|%k|%o'": lambda backend, _: backend.find([TAG]),
    "sacct": lambda backend, _: backend.find(["paislurm-9"]),
    "shopt -s nullglob": lambda backend, submission: backend.fetch([_run_folder(submission.folder.parent)]),
    "sinfo --noheader --Node --nodes": lambda backend, _: backend.unavailable_nodes("n1"),
    "'--format=%i|%l": lambda backend, _: backend._options(ID),
    "show job": lambda backend, _: backend.exit_of(ID),
    "scancel": lambda backend, _: backend.cancel(ID),
    "scontrol": lambda backend, _: backend.change(ID, {"time": "1:00", "qos": "a"}),
    'rm -rf -- "${@:2}"': lambda backend, submission: backend.remove_folder(_run_folder(submission.folder.parent)),
    "sstat": lambda backend, _: usages_of_steps(backend.runner, 123, [cast("Any", ROLE)], 100),
    "sbatch --test-only": lambda backend, _: ask_start(backend.runner, "#!/bin/bash\n", ["normal"]),
    **dict.fromkeys(
        (
            "ip_local_port_range", "show config", "show partition", "show node", "show reservation", "srun --mpi=list",
            "sacctmgr --parsable2 --readonly show users", "sacctmgr --parsable2 --readonly show qos",
        ),
        lambda backend, _: _detect(backend),
    ),
}  # fmt: skip
ROLE = SimpleNamespace(
    component=None, step=0, name="w", requested=SimpleNamespace(cpus=1, memory_mib=1),
    tasks=[SimpleNamespace(started_at=1)],
)  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_malformed_answer_is_parsed_or_raises_a_backend_error(tmp_path: Path, question: str) -> None:
    login = Liar()
    login.about = question
    QUESTIONS[question](*made(tmp_path / "good", login))
    for name, form in FORMS.items():
        for status in (b"0", b"1", b"unframed", b"9" * 5000):
            case = f"{name}, {status[:9]!r}"
            login.form, login.status, login.lies = form, status, 0
            try:
                found = QUESTIONS[question](*made(tmp_path / case.replace("/", "-"), login))
            except BackendError as error:
                assert all(each.code != "E599" and each.hint for each in error.diagnostics), (case, error)
                assert max(len(each.message) for each in error.diagnostics) < 40_000, case
                if question == "setsid --fork" and status == b"0":
                    assert not isinstance(error, RejectedError), case
            else:
                assert question != "setsid --fork" or found[0].isdecimal(), case  # type: ignore[index]
            assert login.lies, case


@pytest.mark.parametrize("stream", ["1", "2"])
def test_an_endless_answer_is_cut_off(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_run, "MAX_ANSWER", 1 << 20)
    with pytest.raises(UnreachableError, match="E543: `bash` printed more than 64 MB"):
        LocalRunner().run(["bash", "-c", f"exec cat /dev/zero >&{stream}"], timeout=100)
    with pytest.raises(bounded_run.TooLongError):
        ProgramTransport(Address(host="x"))._run(["bash", "-c", f"exec cat /dev/zero >&{stream}"], b"", 100)


def test_input_and_output_of_a_program_are_transferred_unchanged() -> None:
    data = bytes(range(256)) * 4000
    done = bounded_run.run_bounded(["bash", "-c", "tee /dev/stderr; exit 3"], data, timeout=100)
    assert done == (3, data, data)
    assert bounded_run.run_bounded(["bash", "-c", "exec 0<&-; sleep 0.1; kill $$"], data, timeout=100)[0] == -15
    late = bounded_run.run_bounded(["bash", "-c", "echo early; exec sleep 100"], b"", timeout=0.5)
    assert late == (None, b"early\n", b"")


def test_an_endless_transport_answer_raises_a_backend_error(tmp_path: Path) -> None:
    class Endless(Liar):
        def exchange(self, *_: object) -> tuple[bytes, bytes]:
            raise bounded_run.TooLongError

    backend, _ = made(tmp_path, Endless())
    with pytest.raises(UnreachableError, match="E543: `squeue` printed more"):
        backend.observe([ID])


def test_the_library_refuses_an_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_transport, "MAX_ANSWER", 1 << 20)
    endless, closed, ended = bytearray(), [], []
    channel = SimpleNamespace(close=lambda: closed.append(1))
    fabric_transport._drain(channel, lambda count: b"x" * count, endless, ended, threading.Event())
    assert (closed, (1 << 20) < len(endless) <= (1 << 20) + fabric_transport.CHUNK) == ([1], True)


@pytest.mark.parametrize(
    "text",
    ["", "[", "[1]", '{"a": 1}', '{"slurm.log": [1, 4]}', '{"slurm.log": [1, "4", "1.0"]}',
     '{"slurm.log": [[], 4, "1"]}', "[" * 100_000, '{"a\\u0000": [1, 4, "1.0"], "slurm.log": [1, 4, "1.0"]}'],
)  # fmt: skip
def test_an_invalid_cache_of_remote_files_is_ignored(tmp_path: Path, text: str) -> None:
    """It is asked for anew then."""
    for folder in ("there", "attempts/0"):
        (tmp_path / "job" / folder).mkdir(parents=True)
    (tmp_path / "job/attempts/0/slurm.log").write_text("text")
    (tmp_path / "job/there/0.json").write_text(text)
    with mirrored(_run_folder(tmp_path)) as known:
        assert known.wanted("x").known == {}
    (tmp_path / "job/there/0.json").write_text('{"slurm.log": [1, 4, "1.0"]}')
    with mirrored(_run_folder(tmp_path)) as known:
        assert known.wanted("x").known == {"slurm.log": (1, 4, "1.0")}

"""Slurm's token of the caller (SLURM_JWT): Slurm's clients get it, and nothing else that is called or kept."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

import pytest

from paislurm.backends.runner import CLIENTS, LocalRunner
from paislurm.translator.errors import UnreachableError

from ..running import JOB, job_file, paislurm, program

OTHERS = ("srun", "sstat", "ssh", "sftp", "scp", "ssh-keyscan", "du", "quota", "mail")
RECORD = """\
{ env -0 | tr '\\n\\0' ' \\n'; printf 'WORDS %s\\n' "$*"; cat; } >>HERE/called/"${0##*/}"
case ${0##*/} in sbatch) echo 7 ;; ssh) exit 255 ;; esac
"""
PROFILE = """\
partitions: {batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}}
defaultPartition: batch
monitor: {background: false}
notifications: {command: [HERE/bin/mail]}
"""
NOTIFIED = "jobRetryCount: 1\nextras: {jobStatusChangeNotification: {running: true, failed: true, stopped: true}}\n"


def token(lifespan: float) -> str:
    """Return a token as Slurm makes it, with the seconds that are left of it. Source: RFC 7519."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"exp": int(time.time() + lifespan), "sun": "alice"})
    words = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*words, "c2lnbmF0dXJl"])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs on PATH that record their environment, words and input; return the folder with `called`."""
    for name in (*CLIENTS, *OTHERS):
        program(tmp_path / "bin" / name, RECORD.replace("HERE", str(tmp_path)))
    (tmp_path / "called").mkdir()
    (tmp_path / "site.yaml").write_text(PROFILE.replace("HERE", str(tmp_path)))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("PAISLURM_SITE", str(tmp_path / "site.yaml"))
    return tmp_path


CALLS = {
    "submit": ["submit", "JOB", "--backend", "slurm"],
    "poll": ["monitor", "--once"],
    "status": ["status", "demo", "--json"],
    "cancel": ["cancel", "demo"],
    "detect": ["site", "detect"],
    "login node": ["submit", "JOB", "--host", "login", "--suffix", "far"],
    "this machine": ["submit", "JOB", "--backend", "local", "--wait", "--suffix", "near"],
}
"""What is called one after the other with a token in the environment."""


@pytest.mark.slow("many calls")
def test_clients_alone_get_the_token(here: Path) -> None:
    job, known = job_file(here, JOB.replace("echo and bye", "env; exit 1") + NOTIFIED), token(600)
    printed = ""
    for words in CALLS.values():
        done = paislurm(*(job if word == "JOB" else word for word in words), SLURM_JWT=known, PAISLURM_TRANSPORT="ssh")
        printed += done.stdout + done.stderr
    called = {path.name: path.read_text() for path in (here / "called").iterdir()}
    assert {"sbatch", "squeue", "scontrol", "scancel", "srun", "ssh", "mail"} <= called.keys(), printed
    for name, text in called.items():
        shown = [line for line in text.splitlines() if known in line]
        assert {*shown} == ({f"SLURM_JWT={known}"} if name in CLIENTS else set()), name
    assert known not in printed
    files = [path for path in Path(os.environ["PAISLURM_HOME"]).rglob("*") if path.is_file()]
    assert {"environment", "journal.jsonl", "0.stdout.log"} <= {path.name for path in files}
    assert [path for path in files if known.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("name", [*sorted(CLIENTS), *OTHERS])
def test_a_retry_has_the_token_of_its_caller(here: Path, name: str) -> None:
    """The environment that is kept of the submit has none."""
    known = token(600)
    LocalRunner(lambda: {"SLURM_JWT": known}).run([name], base={"PATH": os.environ["PATH"]}, timeout=30)
    assert (f"SLURM_JWT={known}\n" in (here / "called" / name).read_text()) == (name in CLIENTS)


def test_an_expired_token_is_no_answer(here: Path) -> None:
    with pytest.raises(UnreachableError, match=r"SLURM_JWT expired .* ago, so `sbatch` was not called") as caught:
        LocalRunner(lambda: {"SLURM_JWT": token(-60)}).run(["sbatch"], timeout=30)
    assert caught.value.diagnostics[0].code == "E506"
    assert list((here / "called").iterdir()) == []


@pytest.mark.parametrize("text", ["", "a", "a.b.c", "a.MQ.c", "a.e30.c", "a.eyJleHAiOiJ4In0.c", "ü.ü.ü"])
def test_a_token_that_does_not_tell_its_end_is_passed_on(here: Path, text: str) -> None:
    LocalRunner(lambda: {"SLURM_JWT": text, "PATH": os.environ["PATH"]}).run(["squeue"], timeout=30)
    assert ("SLURM_JWT=" in (here / "called" / "squeue").read_text()) == bool(text)


def test_a_monitor_ends_with_its_token(here: Path) -> None:
    """It would keep the lock from the next one. The job waits, as without an answer."""
    assert paislurm("submit", job_file(here), "--backend", "slurm", SLURM_JWT=token(600)).returncode == 0
    done = paislurm("monitor", SLURM_JWT=token(-60))
    assert done.returncode == 0
    assert "SLURM_JWT expired" in done.stderr
    assert "SLURM_JWT has expired: this monitor ends" in done.stderr
    shown = paislurm("status", "demo", SLURM_JWT=token(-60))
    assert (shown.returncode, "WAITING" in shown.stdout) == (0, True)

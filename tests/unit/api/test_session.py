"""Sessions compile, submit, watch and end jobs, each in its own home, and print nothing."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import paislurm
from paislurm.translator.app.jobs import waiting
from paislurm.translator.app.session import Event
from paislurm.translator.cli.progress.shown import ProgressLine

from ..cli.running import JOB, SITE, job_file

TEXT = JOB.replace("taskRoles:", "parameters: {word: hello}\ntaskRoles:").replace(
    "echo and bye", "echo <% $parameters.word %>"
)
LASTS = JOB.replace("echo and bye", "sleep 600")


@pytest.fixture(autouse=True)
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Whatever is called prints nothing and sets no handler of a signal."""
    others = [each for each in signal.Signals if each != signal.SIGALRM]  # which limits the time of tests
    before = [signal.getsignal(each) for each in others]
    yield
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert [signal.getsignal(each) for each in others] == before


def local(text: str, session: paislurm.Session | None = None, **options: object) -> paislurm.JobRun:
    """Submit a job to this machine."""
    return (session or paislurm.Session()).jobs.submit(text.encode(), backend="local", **options)  # type: ignore[arg-type]


def stop(run: paislurm.JobRun) -> None:
    run.cancel()
    assert run.wait(timeout=60).state == "STOPPED"


def test_a_job_runs_from_submission_to_success(home: Path) -> None:
    run = local(TEXT, parameters={"word": 0.5}, suffix="-a")
    status = run.wait(timeout=60)
    assert (status.state, status.exit_code, status.succeeded, status.failure) == ("SUCCEEDED", 0, True, None)
    assert [(task.role, task.index, task.exit_status) for task in status.tasks] == [("worker", 0, 0), ("worker", 1, 0)]
    assert run.logs() == {"worker-0": "hello from 0\n0.5\n", "worker-1": "hello from 1\n0.5\n"}
    assert run.logs("worker-1", tail=1) == {"worker-1": "0.5\n"}
    assert run.logs("worker-1", stream="stderr") == {"worker-1": ""}
    assert run.folder == home / "jobs" / status.name
    assert run.compiled is not None
    created = json.loads((run.folder / "journal.jsonl").read_text().splitlines()[0])
    assert created["run"]["script_sha256"] == sha256(run.compiled.script.encode()).hexdigest()
    assert paislurm.find("demo-a").created_at == run.created_at
    assert [(line.name, line.state, line.completed) for line in paislurm.jobs()] == [(run.name, "SUCCEEDED", 2)]
    with pytest.raises(AttributeError):
        run.name = "another"  # type: ignore[misc]


def test_why_a_job_failed() -> None:
    run = local(JOB.replace("echo and bye", "echo no >&2; exit 3"))
    status = run.wait(timeout=60)
    assert (status.state, status.succeeded) == ("FAILED", False)
    assert status.failure is not None
    assert status.failure.last_lines == ("no",)
    assert run.status() == status
    with pytest.raises(paislurm.NotFoundError, match="E521"):
        run.logs("master")


def test_wait_times_out_and_a_cancelled_job_stops() -> None:
    first, second = local(LASTS, suffix="-1"), local(JOB, suffix="-2")
    [ended] = paislurm.wait(first, second, first=True, timeout=60)
    assert (ended.name, ended.state) == (second.name, "SUCCEEDED")
    after = local(JOB, suffix="-3", after=[f"{first.name}:ended"])
    assert [status.ended for status in paislurm.wait(first, second, timeout=0)] == [False, True]
    assert [status.state for status in paislurm.status(after, "demo-2")] == ["WAITING", "SUCCEEDED"]
    stop(first)
    assert [again.state for again in paislurm.cancel(first)] == ["STOPPED"]
    assert after.wait(timeout=60).succeeded


def test_the_library_prints_nothing_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    run = local(LASTS)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", terminal)
        assert ProgressLine().shows
        assert not run.wait(timeout=1).ended
    stop(run)
    assert terminal.getvalue() == ""


def test_ctrl_c_interrupts_wait_but_not_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    run = local(LASTS)
    with monkeypatch.context() as patch:
        interrupted = Mock(side_effect=KeyboardInterrupt)
        patch.setattr(waiting, "time", SimpleNamespace(monotonic=time.monotonic, sleep=interrupted))
        with pytest.raises(paislurm.InterruptedWaitError):
            run.wait()
    assert not run.status().ended
    stop(run)


def test_a_job_run_stays_valid_when_a_newer_job_takes_its_name() -> None:
    first = local(JOB)
    first.wait(timeout=60)
    held = paislurm.find("demo")
    second = local(TEXT)
    assert second.wait(timeout=60).succeeded
    assert (held.folder.name, second.folder.name) == (held.name, f"{held.name}@2")
    logs = [run.logs("worker-0")["worker-0"] for run in (held, second)]
    assert logs == ["hello from 0\nand bye\n", "hello from 0\nhello\n"]


def test_each_session_has_a_separate_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = paislurm.Session(home="one"), paislurm.Session(home=tmp_path / "two")
    monkeypatch.chdir("/")
    runs = [local(JOB, one), local(JOB, two)]
    assert [run.wait(timeout=60).succeeded for run in runs] == [True, True]
    assert [run.folder.parents[1] for run in runs] == [tmp_path / "one", tmp_path / "two"]
    assert (len(one.jobs.list()), len(two.jobs.list()), len(paislurm.jobs())) == (1, 1, 0)
    with pytest.raises(paislurm.NotFoundError):
        paislurm.find("demo")
    assert ((tmp_path / "home").exists(), "one" in repr(one)) == (False, True)


def test_messages_go_to_the_callback_or_the_log(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    said: list[Event] = []
    session = paislurm.Session(home=tmp_path / "said", say=said.append)
    warned = JOB + 'extras: {unknown: "\\u2028x"}\n'
    with caplog.at_level(logging.INFO, "paislurm"):
        assert local(warned, session).wait(timeout=60).succeeded
        assert not caplog.records
        local(warned).wait(timeout=60)
    count = len(said)
    found = session.compiler.check(warned.encode())
    assert [each.severity.value for each in found] == ["warning"] * len(found) != []
    assert all(each in said for each in found)
    assert [record.levelname for record in caplog.records] == ["INFO"] * count


def test_load_compile_and_check_a_job_file(tmp_path: Path) -> None:
    file = job_file(tmp_path)
    session = paislurm.Session(site=job_file(tmp_path, SITE, "site.yaml"))
    job = session.compiler.load(file, suffix="-x")
    assert (job.name, job.task_count) == ("demo-x", 2)
    compiled = session.compiler.compile(file, slurm={"time": "10"})
    assert ("#SBATCH --time=00:10:00" in compiled.script, compiled.site.default_partition) == (True, "batch")
    assert [each.code for each in session.compiler.check(file)] == ["W402"]
    assert paislurm.load(file).name == "demo"


def test_check_returns_all_errors_and_other_functions_raise_them(tmp_path: Path) -> None:
    session = paislurm.Session(site=job_file(tmp_path, SITE, "site.yaml"))
    too_large = JOB.replace("instances: 2", "instances: 2000").encode()
    for text, error, code in (
        (JOB.replace("instances: 2", "instances: two").encode(), paislurm.ProtocolError, "E2"),
        (too_large, paislurm.PlanError, "E4"),
    ):
        found = session.compiler.check(text)
        assert [each.code[:2] for each in found if each.code.startswith("E")][:1] == [code]
        with pytest.raises(error) as raised:
            session.compiler.compile(text)
        assert raised.value.diagnostics == tuple(found)
    assert session.compiler.load(too_large).task_count == 2000
    [unclosed] = session.compiler.check(JOB.replace("echo and bye", "'if true'").encode())
    assert unclosed.message.startswith("bash")
    with pytest.raises(paislurm.SiteError):
        paislurm.Session(site=tmp_path / "none.yaml").compiler.check(JOB.encode())


@pytest.mark.parametrize("options", [{"backend": "none"}, {"backend": "local", "host": "login1"}])
def test_wrong_arguments_raise_a_paislurm_error(options: dict[str, str]) -> None:
    with pytest.raises(paislurm.PaislurmError, match="E505"):
        paislurm.submit(JOB.encode(), **options)  # type: ignore[arg-type]


def test_an_unreadable_file_raises_a_paislurm_error(home: Path) -> None:
    with pytest.raises(paislurm.ProtocolError):
        paislurm.load("-")
    home.mkdir(mode=0o700)
    (home / "jobs").write_text("no folder")
    with pytest.raises(paislurm.FolderError):
        local(JOB)


def test_a_removed_job_is_not_found(home: Path) -> None:
    run = local(JOB)
    run.wait(timeout=60)
    run.folder.rename(home / "away")
    for look in (run.status, run.wait, run.logs, run.cancel):
        with pytest.raises(paislurm.NotFoundError):
            look()


TOLD = """
import os, sys
import paislurm
from pathlib import Path
def told(home, environment):
    session = paislurm.Session(home=home, environment=environment, say=lambda _: None)
    runs = [session.jobs.submit(Path(environment["JOB"]), suffix=f"-{n}", backend="local") for n in range(2)]
    ends = session.jobs.wait(*runs, timeout=60)
    texts = [run.logs() for run in runs]
    removed = session.jobs.remove(runs[0])
    return repr(([(end.name, end.state) for end in ends], texts, [each.name for each in removed.removed],
        [line.name for line in session.jobs.list()]))
"""


def test_two_sessions_in_two_threads_do_what_two_processes_do(tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("echo and bye", "echo $WORD"))
    environments = [{**os.environ, "JOB": str(job), "WORD": word, "HOME": str(tmp_path)} for word in ("one", "two")]
    one_process: dict[str, Any] = {}
    exec(TOLD, one_process)
    with ThreadPoolExecutor(2) as threads:
        in_threads = list(threads.map(one_process["told"], (tmp_path / "a", tmp_path / "b"), environments))
    code = TOLD + "print(told(sys.argv[1], dict(os.environ)))"
    processes = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / name)], env=environment, stdout=subprocess.PIPE, check=False
        )
        for name, environment in zip("cd", environments, strict=True)
    ]
    assert in_threads == [process.stdout.decode().removesuffix("\n") for process in processes]
    assert ["one" in text for text in in_threads] == ["two" not in text for text in in_threads] == [True, False]

"""What else a session does: read job files and scripts, run commands in tasks, follow output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import paislurm
from tests.cluster.processes import wait_until

from ..cli.running import JOB, SITE, job_file
from .test_session import LASTS, TEXT, local

V1 = """\
{"jobName": "old", "image": "image", "taskRoles": [{"name": "worker", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100,
 "gpuNumber": 0, "command": "echo hello"}]}
"""


@pytest.fixture
def session(tmp_path: Path) -> paislurm.Session:
    (tmp_path / "site.yaml").write_text(SITE, encoding="utf-8")
    return paislurm.Session(site=tmp_path / "site.yaml")


@pytest.fixture
def running(session: paislurm.Session) -> Iterator[paislurm.JobRun]:
    """Run a job that lasts."""
    run = local(LASTS, session)
    wait_until(lambda: {task.state for task in run.status().tasks} == {"RUNNING"}, "all tasks to run")
    yield run
    run.cancel()


def test_explain_returns_the_sources_of_script_lines(session: paislurm.Session) -> None:
    found = session.compiler.explain(TEXT.encode())
    assert {line for origin in found for line in origin.job_lines} >= {2, 8}
    assert any("hello from" in origin.text for origin in found)


def test_a_job_file_of_protocol_v1_becomes_one_of_v2(session: paislurm.Session) -> None:
    found = session.compiler.convert(V1.encode())
    assert session.compiler.load(found.text.encode()).name == found.job == session.compiler.load(V1.encode()).name
    with pytest.raises(paislurm.ProtocolError, match="E310"):
        session.compiler.convert(JOB.encode())


def test_a_script_is_compared_with_the_released_runtime(session: paislurm.Session, tmp_path: Path) -> None:
    compiled = session.compiler.compile(JOB.encode())
    verified = session.compiler.verify(compiled.script.encode(), JOB.encode())
    assert (verified.genuine, verified.edited, verified.difference, verified.diagnostics) == (True, False, "", ())
    assert verified.paislurm_version == paislurm.__version__
    verified = session.compiler.verify(compiled.script.replace("echo and bye", "echo and more").encode(), JOB.encode())
    assert (verified.genuine, verified.edited, "+echo and more" in (verified.difference or "")) == (True, True, True)
    verified = session.compiler.verify(job_file(tmp_path, "#!/bin/bash\n", "job.sbatch"))
    assert (verified.genuine, verified.paislurm_version, len(verified.diagnostics)) == (False, None, 1)
    assert session.compiler.runtime(*session.compiler.verify(compiled.script.encode()).uses).text in compiled.script
    with pytest.raises(paislurm.UsageError, match="the runtime has no part nothing"):
        session.compiler.runtime("nothing")


def test_explain_exit_returns_the_meaning_of_a_code(session: paislurm.Session) -> None:
    assert session.compiler.explain_exit(137) == session.compiler.explain_exit("137")
    lost = session.compiler.explain_exit("NODE_FAIL")
    assert (lost.backend_state, lost.exit_code, lost.behaviour) == ("NODE_FAIL", -1001, "transient")
    waits = session.compiler.explain_exit("PENDING")
    assert (waits.exit_code, waits.meaning) == (None, "the job waits: WAITING")
    with pytest.raises(paislurm.NotFoundError):
        session.compiler.explain_exit("NODE_FALL")


def test_a_command_runs_in_a_task(
    session: paislurm.Session, running: paislurm.JobRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "made"
    assert session.tasks.exec(running, "worker-1", "sh", "-c", f"echo $PAI_TASK_INDEX > {file}; exit 4") == 4
    assert file.read_text() == "1\n"
    for task, error, says in (
        ("worker", paislurm.UsageError, "worker has 2 tasks: choose one of worker-0 to worker-1"),
        ("", paislurm.UsageError, "~demo has 2 tasks: choose one of worker-0 to worker-1"),
        ("worker-9", paislurm.NotFoundError, "E521"),
    ):
        with pytest.raises(error, match=says):
            session.tasks.exec(running, task, "true")
    running.cancel()
    running.wait(timeout=60)
    with pytest.raises(paislurm.NotFoundError, match="is not running: it is STOPPED"):
        session.tasks.exec(running, "worker-0", "true")
    assert capfd.readouterr().out == ""


def test_follow_passes_each_line_to_the_callback(session: paislurm.Session) -> None:
    run = local(JOB.replace("echo and bye", "echo and bye >&2; printf last"), session)
    lines: list[tuple[str, str]] = []
    view = session.logs.follow(run, "worker-1", each=lambda task, line: lines.append((task, line)))
    assert (view.name, view.state) == (run.name, "SUCCEEDED")
    assert sorted(lines) == [("worker-1", line) for line in ("and bye", "hello from 1", "last")]
    assert [(line.name, line.state) for line in session.jobs.watch(run.name)] == [(run.name, "SUCCEEDED")]
    assert session.jobs.list(states=["FAILED"]) == session.jobs.list(since=1 << 40) == []

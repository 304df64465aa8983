"""What else a session does: read job files and scripts, enter tasks, change and remove jobs, describe the site."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import paislurm
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.app.sites import ask
from paislurm.translator.app.sites.checked import CheckedJobs, CheckedProfile
from tests.cluster.processes import wait_until

from ..cli.running import JOB, SITE, job_file
from ..site.detection.answered import recorded
from .test_session import LASTS, TEXT, local

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def test_jobs_and_job_files_are_compared(session: paislurm.Session, tmp_path: Path) -> None:
    first = local(TEXT, session)
    second = session.jobs.again(first, suffix="-2", parameters={"word": "other"})
    assert [status.succeeded for status in session.jobs.wait(first, second, timeout=60)] == [True, True]
    found = session.compiler.diff(first, second)
    assert (found.same, found.compared) == (False, (first.name, second.name))
    assert "other" in (found.script_difference or "")
    assert session.compiler.diff(first, job_file(tmp_path, TEXT)).compared[0] == first.name
    assert session.compiler.verify(first).genuine
    with pytest.raises(paislurm.UsageError, match="E520"):
        session.compiler.diff(first, "none")


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


def test_port_forward_returns_the_ssh_command_and_url(session: paislurm.Session, running: paislurm.JobRun) -> None:
    way = session.tasks.port_forward(running, "worker-0", "8888", login="alice@login1")
    assert (way.port, way.local_port, way.url, way.task) == (8888, 8888, "http://localhost:8888", "worker-0")
    assert way.argv[-1] == "alice@login1"
    with pytest.raises(paislurm.NotFoundError, match="E567"):
        session.tasks.port_forward(running, "worker-0", "none")
    with pytest.raises(paislurm.UsageError, match="has 2 tasks: choose one of worker-0 to worker-1"):
        session.tasks.port_forward(running)


def test_a_job_is_changed(session: paislurm.Session, running: paislurm.JobRun) -> None:
    [status] = session.jobs.update(running, retries=3)
    assert not status.ended
    for call, error, says in (
        (session.jobs.update, paislurm.UsageError, "nothing to change"),
        (partial(session.jobs.update, slurm={"time": "10"}), paislurm.RejectedError, "E622"),
        (session.jobs.remove, paislurm.FolderError, "E591"),
    ):
        with pytest.raises(error, match=says):
            call(running)


def test_jobs_are_removed(session: paislurm.Session) -> None:
    sweep = session.sweeps.submit(
        JOB.replace("taskRoles:", "parameters: {a: 1}\ntaskRoles:").encode(), "a=1,2", backend="local"
    )
    session.jobs.wait(*sweep.names, timeout=60)
    assert sweep.names == [line.name for line in reversed(session.jobs.list())]
    trial = session.jobs.remove("demo-*", dry_run=True)
    assert (len(trial.removed), trial.dry_run, len(session.jobs.list())) == (2, True, 2)
    assert [each.name for each in session.jobs.remove(sweep.names[0]).removed] == sweep.names[:1]
    assert session.jobs.remove(states=["FAILED"]).removed == ()
    assert ([each.left_behind for each in session.jobs.remove(older_than=0).removed], session.jobs.list()) == (
        [None],
        [],
    )
    with pytest.raises(paislurm.UsageError, match="no job given"):
        session.jobs.remove()


def test_site_show_and_site_detect_return_the_profile(
    session: paislurm.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = session.sites.show()
    assert (shown.file, shown.found_by) == (str(tmp_path / "site.yaml"), "named by $PAISLURM_SITE")
    [default] = [each for each in shown.in_force if each.setting == "defaultPartition"]
    assert (default.value, default.origin, default.line, default.locked) == ("batch", "named", 3, False)
    monkeypatch.setattr(ask, "ask", lambda *_: recorded("24.11"))
    found = session.sites.detect(tmp_path / "new.yaml")
    assert (found.written, found.difference, found.kept_as) == (True, None, None)
    assert ((tmp_path / "new.yaml").read_text(encoding="utf-8"), session.sites.detect().file) == (found.text, None)
    checked = session.sites.check(job_file(tmp_path))
    assert isinstance(checked, CheckedJobs)
    assert [(each.job, each.exit_status) for each in checked.checked] == [("demo", 0)]
    profile = session.sites.check()
    assert isinstance(profile, CheckedProfile)
    assert (profile.backend_reachable, {each.code for each in profile.gone}) == (True, {"E465"})


def test_follow_passes_each_line_to_the_callback(session: paislurm.Session) -> None:
    run = local(JOB.replace("echo and bye", "echo and bye >&2; printf last"), session)
    lines: list[tuple[str, str]] = []
    view = session.logs.follow(run, "worker-1", each=lambda task, line: lines.append((task, line)))
    assert (view.name, view.state) == (run.name, "SUCCEEDED")
    assert sorted(lines) == [("worker-1", line) for line in ("and bye", "hello from 1", "last")]
    assert [(line.name, line.state) for line in session.jobs.watch(run.name)] == [(run.name, "SUCCEEDED")]
    assert session.jobs.list(states=["FAILED"]) == session.jobs.list(since=1 << 40) == []


def test_estimate_usage_and_report_return_results(
    session: paislurm.Session, running: paislurm.JobRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlurmBackend, "known_nodes", lambda _, nodes, _cluster: frozenset(nodes))
    found = session.jobs.estimate(JOB.encode(), backend="local")
    assert (found.at_once, found.task_count) == (True, 2)
    assert session.jobs.status(running, usage=True)[0].usages == ()
    assert [each.node for each in session.sites.add_node("n1", reason="slow").bad_nodes] == ["n1"]
    assert session.sites.remove_node("n1") == session.sites.nodes()
    page = session.jobs.report(running, output=tmp_path / "page.html").file
    assert Path(page).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_monitor_and_slurm_calls_return_results(session: paislurm.Session) -> None:
    assert session.jobs.monitor().worked
    local(JOB, session).wait(timeout=60)
    assert session.sites.slurm_calls().retries_in_last_hour == 0

"""What else a client does: read job files and scripts, enter tasks, change and remove jobs, describe the site."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

import paislurm
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.app.site import ask
from paislurm.translator.app.site.check import CheckedJobs, CheckedProfile
from tests.cluster.processes import wait_until

from ..cli.running import JOB, SITE, job_file
from ..site.detection.answered import recorded
from .test_client import LASTS, TEXT, local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


V1 = """\
{"jobName": "old", "image": "image", "taskRoles": [{"name": "worker", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100,
 "gpuNumber": 0, "command": "echo hello"}]}
"""


@pytest.fixture
def client(tmp_path: Path) -> paislurm.Client:
    (tmp_path / "site.yaml").write_text(SITE, encoding="utf-8")
    return paislurm.Client(site=tmp_path / "site.yaml")


@pytest.fixture
def running(client: paislurm.Client) -> Iterator[paislurm.JobRun]:
    """Run a job that lasts."""
    run = local(LASTS, client)
    wait_until(lambda: {task.state for task in run.status().tasks} == {"RUNNING"}, "all tasks to run")
    yield run
    run.cancel()


def test_explain_returns_the_sources_of_script_lines(client: paislurm.Client) -> None:
    found = client.explain(TEXT.encode())
    assert {line for origin in found for line in origin.job_lines} >= {2, 8}
    assert any("hello from" in origin.text for origin in found)


def test_a_job_file_of_protocol_v1_becomes_one_of_v2(client: paislurm.Client) -> None:
    found = client.convert(V1.encode())
    assert client.load(found.text.encode()).name == found.job == client.load(V1.encode()).name
    with pytest.raises(paislurm.ProtocolError, match="E310"):
        client.convert(JOB.encode())


def test_a_script_is_compared_with_the_released_runtime(client: paislurm.Client, tmp_path: Path) -> None:
    compiled = client.compile(JOB.encode())
    verified = client.verify(compiled.script.encode(), JOB.encode())
    assert (verified.genuine, verified.edited, verified.difference, verified.diagnostics) == (True, False, "", ())
    assert verified.paislurm_version == paislurm.__version__
    verified = client.verify(compiled.script.replace("echo and bye", "echo and more").encode(), JOB.encode())
    assert (verified.genuine, verified.edited, "+echo and more" in (verified.difference or "")) == (True, True, True)
    verified = client.verify(job_file(tmp_path, "#!/bin/bash\n", "job.sbatch"))
    assert (verified.genuine, verified.paislurm_version, len(verified.diagnostics)) == (False, None, 1)
    assert client.runtime(*client.verify(compiled.script.encode()).uses).text in compiled.script
    with pytest.raises(paislurm.UsageError, match="the runtime has no part nothing"):
        client.runtime("nothing")


def test_jobs_and_job_files_are_compared(client: paislurm.Client, tmp_path: Path) -> None:
    first = local(TEXT, client)
    second = client.again(first, suffix="-2", parameters={"word": "other"})
    assert [status.succeeded for status in client.wait(first, second, timeout=60)] == [True, True]
    found = client.diff(first, second)
    assert (found.same, found.compared) == (False, (first.name, second.name))
    assert "other" in (found.script_difference or "")
    assert client.diff(first, job_file(tmp_path, TEXT)).compared[0] == first.name
    assert client.verify(first).genuine
    with pytest.raises(paislurm.UsageError, match="E520"):
        client.diff(first, "none")


def test_explain_exit_returns_the_meaning_of_a_code(client: paislurm.Client) -> None:
    assert client.explain_exit(137) == client.explain_exit("137")
    lost = client.explain_exit("NODE_FAIL")
    assert (lost.backend_state, lost.exit_code, lost.behaviour) == ("NODE_FAIL", -1001, "transient")
    waits = client.explain_exit("PENDING")
    assert (waits.exit_code, waits.meaning) == (None, "the job waits: WAITING")
    with pytest.raises(paislurm.NotFoundError):
        client.explain_exit("NODE_FALL")


def test_a_command_runs_in_a_task(
    client: paislurm.Client, running: paislurm.JobRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "made"
    assert client.exec(running, "worker-1", "sh", "-c", f"echo $PAI_TASK_INDEX > {file}; exit 4") == 4
    assert file.read_text() == "1\n"
    for task, error, says in (
        ("worker", paislurm.UsageError, "worker has 2 tasks: choose one of worker-0 to worker-1"),
        ("", paislurm.UsageError, "~demo has 2 tasks: choose one of worker-0 to worker-1"),
        ("worker-9", paislurm.NotFoundError, "E521"),
    ):
        with pytest.raises(error, match=says):
            client.exec(running, task, "true")
    running.cancel()
    running.wait(timeout=60)
    with pytest.raises(paislurm.NotFoundError, match="is not running: it is STOPPED"):
        client.exec(running, "worker-0", "true")
    assert capfd.readouterr().out == ""


def test_port_forward_returns_the_ssh_command_and_url(client: paislurm.Client, running: paislurm.JobRun) -> None:
    way = client.port_forward(running, "worker-0", "8888", login="alice@login1")
    assert (way.port, way.local_port, way.url, way.task) == (8888, 8888, "http://localhost:8888", "worker-0")
    assert way.argv[-1] == "alice@login1"
    with pytest.raises(paislurm.NotFoundError, match="E567"):
        client.port_forward(running, "worker-0", "none")
    with pytest.raises(paislurm.UsageError, match="has 2 tasks: choose one of worker-0 to worker-1"):
        client.port_forward(running)


def test_a_job_is_changed(client: paislurm.Client, running: paislurm.JobRun) -> None:
    [status] = client.update(running, retries=3)
    assert not status.ended
    for call, error, says in (
        (client.update, paislurm.UsageError, "nothing to change"),
        (partial(client.update, slurm={"time": "10"}), paislurm.RejectedError, "E622"),
        (client.remove, paislurm.FolderError, "E591"),
    ):
        with pytest.raises(error, match=says):
            call(running)


def test_jobs_are_removed(client: paislurm.Client) -> None:
    runs = client.sweep(JOB.replace("taskRoles:", "parameters: {a: 1}\ntaskRoles:").encode(), "a=1,2", backend="local")
    client.wait(*runs, timeout=60)
    assert [run.name for run in runs] == [line.name for line in reversed(client.jobs())]
    trial = client.remove("demo-*", dry_run=True)
    assert (len(trial.removed), trial.dry_run, len(client.jobs())) == (2, True, 2)
    assert [each.name for each in client.remove(runs[0]).removed] == [runs[0].name]
    assert client.remove(states=["FAILED"]).removed == ()
    assert ([each.left_behind for each in client.remove(older_than=0).removed], client.jobs()) == ([None], [])
    with pytest.raises(paislurm.UsageError, match="no job given"):
        client.remove()


def test_site_show_and_site_detect_return_the_profile(
    client: paislurm.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = client.site_show()
    assert (shown.file, shown.found_by) == (str(tmp_path / "site.yaml"), "named by $PAISLURM_SITE")
    [default] = [each for each in shown.in_force if each.setting == "defaultPartition"]
    assert (default.value, default.origin, default.line, default.locked) == ("batch", "named", 3, False)
    monkeypatch.setattr(ask, "ask", lambda *_: recorded("24.11"))
    found = client.site_detect(tmp_path / "new.yaml")
    assert (found.written, found.difference, found.kept_as) == (True, None, None)
    assert ((tmp_path / "new.yaml").read_text(encoding="utf-8"), client.site_detect().file) == (found.text, None)
    checked = client.site_check(job_file(tmp_path))
    assert isinstance(checked, CheckedJobs)
    assert [(each.job, each.exit_status) for each in checked.checked] == [("demo", 0)]
    profile = client.site_check()
    assert isinstance(profile, CheckedProfile)
    assert (profile.backend_reachable, {each.code for each in profile.gone}) == (True, {"E465"})


def test_follow_passes_each_line_to_the_callback(client: paislurm.Client) -> None:
    run = local(JOB.replace("echo and bye", "echo and bye >&2; printf last"), client)
    lines: list[tuple[str, str]] = []
    view = client.follow(run, "worker-1", each=lambda task, line: lines.append((task, line)))
    assert (view.name, view.state) == (run.name, "SUCCEEDED")
    assert sorted(lines) == [("worker-1", line) for line in ("and bye", "hello from 1", "last")]
    assert [(line.name, line.state) for line in client.watch(run.name)] == [(run.name, "SUCCEEDED")]
    assert client.jobs(states=["FAILED"]) == client.jobs(since=1 << 40) == []


def test_estimate_usage_and_report_return_results(
    client: paislurm.Client, running: paislurm.JobRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlurmBackend, "known_nodes", lambda _, nodes, _cluster: frozenset(nodes))
    found = client.estimate(JOB.encode(), backend="local")
    assert (found.at_once, found.task_count) == (True, 2)
    assert client.status(running, usage=True)[0].usages == ()
    assert [each.node for each in client.add_node("n1", reason="slow").bad_nodes] == ["n1"]
    assert client.remove_node("n1") == client.nodes()
    page = client.report(running, output=tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_monitor_and_slurm_calls_return_results(client: paislurm.Client) -> None:
    assert client.monitor().worked
    local(JOB, client).wait(timeout=60)
    assert client.slurm_calls().retries_in_last_hour == 0

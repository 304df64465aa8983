"""Two versions beside each other, as on the day of an upgrade: no job is lost, and none runs twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import wait_until

from .cli.running import JOB
from .side_by_side import VERSION, Installed, install

pytestmark = pytest.mark.slow("installs two versions, and runs jobs that are retried")
NEW = "0.3.0"


@pytest.fixture
def versions(tmp_path: Path) -> Iterator[tuple[Installed, Installed]]:
    """Install both versions for one home; at the end nothing of them runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PAISLURM_", "SLURM_"))}
    environment = kept | {"HOME": str(tmp_path), "PAISLURM_HOME": str(tmp_path / "home")}
    both = install(tmp_path / "old", VERSION, environment), install(tmp_path / "new", NEW, environment)
    yield both
    for each in both:
        for line in json.loads(each("list", "--all", "--json").stdout)["jobs"]:
            if not line["ended"]:
                each("cancel", line["name"])
        for process in each.monitors():
            os.kill(process, signal.SIGKILL)


def job(folder: Path, name: str) -> str:
    """Write a job that fails once it may go on, and succeeds when it is run again; each run is a line of a file."""
    runs, go = folder / f"{name}.runs", folder / "go"
    commands = f'echo run >>{runs}; until [ -e {go} ]; do sleep 0.1; done; [ "$(grep -c run {runs})" = 2 ]'
    text = JOB.replace("name: demo", f"name: {name}\njobRetryCount: 1").replace("instances: 2", "instances: 1")
    text = text.replace("echo hello from $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", f"'{commands}'")
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def state(program: Installed, name: str) -> str:
    return str(json.loads(program("status", name, "--json").stdout)["state"])


@pytest.mark.parametrize("ended", [True, False], ids=["the old monitor is ended", "the old monitor stays"])
def test_an_upgrade_works_while_jobs_run(versions: tuple[Installed, Installed], tmp_path: Path, *, ended: bool) -> None:
    old, new = versions
    assert (old("--version").stdout, new("--version").stdout) == (f"paislurm {VERSION}\n", f"paislurm {NEW}\n")
    assert old("submit", job(tmp_path, "before"), "--backend", "local").returncode == 0
    wait_until((tmp_path / "before.runs").exists, "the job before runs")
    wait_until(lambda: len(old.monitors()) == 1, "the old monitor")
    if ended:
        os.kill(old.monitors()[0], signal.SIGTERM)
        wait_until(lambda: not old.monitors(), "the old monitor ends")
    done = new("submit", job(tmp_path, "after"), "--backend", "local")
    assert done.returncode == 0, done.stderr
    wait_until((tmp_path / "after.runs").exists, "the job after runs")
    assert (state(new, "before"), state(old, "after")) == ("RUNNING", "RUNNING")
    wait_until(lambda: len(new.monitors() if ended else old.monitors()) == 1, "one monitor")
    if not ended:
        assert new.monitors() == []
    (tmp_path / "go").touch()
    for name, other in (("before", new), ("after", old)):
        assert other("wait", name).returncode == 0
        assert state(other, name) == "SUCCEEDED"
        assert (tmp_path / f"{name}.runs").read_text() == "run\nrun\n"
        (folder,) = (tmp_path / "home" / "jobs").glob(f"*~{name}")
        assert sorted(each.name for each in (folder / "attempts").iterdir()) == ["0", "1"]
        records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
        assert [each["attempt"] for each in records if each["kind"] == "submitted"] == [0, 1]
        assert sum(each["kind"] == "ended" for each in records) == 1
    wait_until(lambda: old.monitors() + new.monitors() == [], "no monitor stays")

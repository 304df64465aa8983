"""`status --usage`: what is shown of the use of running tasks."""

from __future__ import annotations

import json
import re
from unittest.mock import patch

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder

from ...app.jobs.test_where import Said
from ...monitor.jobs import FakeBackend, observed
from ..running import Runner


@pytest.fixture
def running_folder(slurm: FakeBackend, folder: JobFolder) -> JobFolder:
    """Let two tasks run."""
    slurm.observations[JobId("7")] = observed("RUNNING")
    folder.reports(0).mkdir()
    (folder.reports(0) / "n1.log").write_text("start 0 0 0 0 n1 0 100\nstart 0 1 1 0 n1 0 100\n", encoding="utf-8")
    return folder


def test_status_shows_the_usage_of_running_tasks(run: Runner, running_folder: JobFolder) -> None:
    plan = {"roles": [{"name": "worker", "resources": {"cpus": 4, "memory_mib": 4096}}]}
    (running_folder.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    said = Said("7.0|2|00:00:30|1024M|2048M|gres/gpuutil=40\n")
    with patch.object(Session, "slurm_runner", lambda *_: said):
        shown, document = run("status", "--usage"), run.json("status", "--usage")
        assert run.json("status")["usages"] is None
    row = re.split(" {2,}", shown.out.partition("from sstat:\n")[2].splitlines()[1])
    assert (row[:2], row[3:]) == (["worker", "2"], ["1.0 GiB", "2.0 GiB of 4.0 GiB", "40 %", "-"])
    assert row[2].endswith(" of 4")
    (used,) = document["usages"]
    assert (used["role"], used["max_memory_mib"], used["requested_memory_mib"]) == ("worker", 2048, 4096)
    assert [argv[0] for argv in said.asked] == ["sstat", "sstat"]


@pytest.mark.parametrize(("text", "why"), [("", "Slurm gathers none"), ("missing", "is not on PATH")])
def test_status_says_why_the_usage_is_unknown(run: Runner, running_folder: JobFolder, text: str, why: str) -> None:
    (running_folder.path / "plan.json").write_text('{"roles": [{"name": "worker"}]}', encoding="utf-8")
    with patch.object(Session, "slurm_runner", lambda *_: Said(text)):
        shown = run("status", "--usage")
    assert (shown.code, "from sstat" in shown.out) == (0, False)
    assert re.search(f"the usage of .*{why}", shown.err, re.DOTALL)

"""`list` and `status`: how jobs stand, as far as anybody knows."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs.refresh import monitor_lock
from paislurm.translator.app.session import Session
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Changed

from ...monitor.jobs import (
    CREATED,
    ENDED,
    INTENT,
    NOW,
    SUBMITTED,
    FakeBackend,
    claim,
    ended,
    job_folder,
    leave_result,
    observed,
    task,
)
from ..running import ME, Runner

pytestmark = pytest.mark.usefixtures("slurm", "folder")


def test_status_shows_the_latest_requested_options(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Resources")
    plan = {
        "components": [
            {"directives": [["time", "01:30:00"], ["account", "deep"], ["qos", "long"], ["no-requeue", None]]}
        ],
        "roles": [
            {"name": "a", "resources": {"gpus": 4}, "slots": 2},
            {"name": "b", "resources": {"gpus": 1}, "slots": 3},
        ],
    }
    (folder.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    said = run("status", "demo").out
    for name, value in (("account", "deep"), ("time limit", "01:30:00"), ("QOS", "long"), ("GPUs", "11")):
        assert re.search(rf"^{name} +{value}$", said, re.MULTILINE)
    folder.append(Changed(happened_at=NOW, attempt=0, user="me", job_id="7", values={"time": "2:00:00"}, old_values={}))
    known = run.json("status", "demo")
    assert [known[name] for name in ("time_limit", "account", "qos", "job_gpus")] == [7200, "deep", "long", 11]


def test_a_waiting_job_is_shown(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Resources")
    said = run("status", "demo")
    assert (said.code, said.err, str(folder.path) in said.out) == (0, "", True)
    lines = [line.split(maxsplit=1) for line in said.out.splitlines() if line]
    assert [line for line in lines[:7] if line[0] not in ("since", "advice")] == [
        ["job", ME],
        ["state", "WAITING"],
        ["reason", "Resources: other jobs use the resources that it requests"],
        ["attempt", "1"],
        ["slurm", "job 7, PENDING, Resources"],
    ]
    for pattern in (r"since +\d{4}-\d\d-\d\d ", "advice +set a shorter time limit", "worker-1  WAITING( +-){6}$"):
        assert re.search(f"^{pattern}", said.out, re.MULTILINE)


def test_json_contains_the_reason_for_waiting(run: Runner, slurm: FakeBackend) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="JobHeldUser", reasons=("JobHeldUser",))
    document = run.json("status", "demo")
    [wait] = document["waits"]
    assert (wait["backend_reason"], wait["kind"], wait["advice"]) == (
        "JobHeldUser",
        "stuck",
        "release it with `paislurm update demo --release`",
    )
    assert (document["reason"], document["backend_reason"]) == (
        "it cannot start as it is: JobHeldUser: its user holds it",
        "JobHeldUser",
    )
    assert datetime.fromisoformat(document["waits_began_at"]).tzinfo is not None
    [line] = run.json("list")["jobs"]
    assert (line["advice"], line["waits_began_at"]) == (wait["advice"], document["waits_began_at"])


def test_a_running_job_is_shown(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING", started=NOW)
    reports = folder.reports(0)
    reports.mkdir(parents=True)
    (reports / "0.log").write_text(f"start 0 0 0 0 n1 4 {NOW}\nexit 0 0 0 0 0 0 success {NOW}\n", encoding="utf-8")
    (reports / "1.log").write_text(f"start 0 1 1 0 n2 4 {NOW}\nexit 0 1 1", encoding="utf-8")
    document = run.json("status", "7")
    assert (document["state"], document["backend_state"], "1 of 2" in run("list").out) == ("RUNNING", "RUNNING", True)
    assert [(t["state"], t["node"]) for t in document["tasks"]] == [("SUCCEEDED", "n1"), ("RUNNING", "n2")]
    assert document["roles"] == [{"name": "worker", "instances": 2, "states": {"SUCCEEDED": 1, "RUNNING": 1}}]


def test_status_of_a_failed_job_exits_with_0(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    stopped = task(1, state="STOPPED", exit_code=-220, exit_status=143)
    leave_result(folder, outcome="failed", exit_code=220, reason="worker-0 failed", tasks=[task(0), stopped])
    slurm.observations[JobId("7")] = observed("FAILED", final=True)
    said = run("status", "demo")
    ended = "FAILED (a command was not found; code 220, UserCommandExitWithError)"
    assert (said.code, ended in said.out) == (0, True)
    assert "worker-1  STOPPED    n1    143          -220" in said.out


def test_control_characters_in_a_result_are_escaped(run: Runner, folder: JobFolder) -> None:
    evil = "\x1b[2J\r\n\u202e\x9b1m"
    leave_result(folder, reason=evil, tasks=[task(0, node=evil), task(1)])
    out = run("status", "demo").out
    assert not {"\x1b", "\r", "\u202e", "\x9b"} & set(out)
    assert r"\x1b[2J\r\n\u202e\x9b1m" in out


def test_without_an_answer_the_last_known_state_is_shown(run: Runner, slurm: FakeBackend) -> None:
    slurm.observations[JobId("7")] = observed("PENDING", reason="Priority")
    run("status", "demo")
    slurm.fails = "away"
    for words in (["status", "demo"], ["list"]):
        said = run(*words)
        assert (said.code, "WAITING" in said.out) == (0, True)
        assert "these are the last known states: Slurm does not respond: timed out" in said.err
    assert "job 7, PENDING (last known)" in run("status", "demo").out


@pytest.mark.parametrize("command", ["status", "logs", "wait", "cancel"])
def test_an_unknown_job_exits_with_5_and_suggests_similar_names(run: Runner, command: str) -> None:
    said = run(command, "dmeo")
    assert (said.code, "did you mean `demo`?" in said.err) == (5, True)


def test_list_shows_all_jobs(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    assert run("list", "--json").code == 0
    job_folder(surroundings, CREATED, INTENT, SUBMITTED, ENDED)
    job_folder(surroundings, CREATED, INTENT, SUBMITTED, ENDED, name="alice~demo.1")
    slurm.observations[JobId("7")] = observed("RUNNING")
    assert [re.split(" {2,}", line)[:5] for line in run("list").out.splitlines()] == [
        ["name", "state", "code", "id", "done"],
        ["demo", "WAITING", "-", "7", "0 of 2"],
        ["alice~demo", "FAILED", "255", "7", "2 of 2"],
    ]
    assert len(run.json("list", "--all")["jobs"]) == 3
    assert [line["name"] for line in run.json("list", "--state", "failed")["jobs"]] == ["alice~demo"]
    assert run("list", "--state", "stopped").err == "no such jobs\n"


def test_a_job_with_an_unreadable_journal_is_listed_with_that_reason(
    run: Runner, slurm: FakeBackend, surroundings: Path
) -> None:
    slurm.observations[JobId("7")] = observed("RUNNING")
    job_folder(surroundings, CREATED, name="alice~lost").journal.unlink()
    job_folder(surroundings, name="alice~empty")
    job_folder(surroundings, name="alice~spoilt").journal.write_bytes(b"no\nJSON\n")
    link = job_folder(surroundings, name="alice~loop").journal
    link.unlink()
    link.symlink_to(link)
    (surroundings / "a~file").write_text("no job", encoding="utf-8")
    said = run("list")
    rows = {line.split()[0]: line.split()[1:7] for line in said.out.splitlines()[1:]}
    unreadable = ["alice~empty", "alice~loop", "alice~lost", "alice~spoilt"]
    assert rows.pop("demo")[0] == "WAITING"
    assert rows == {name: ["UNKNOWN", "-", "-", "-", "-", "-"] for name in unreadable}
    assert "warning: alice~spoilt: its journal cannot be read (journal.jsonl: line 1 cannot be read: " in said.err
    assert f"repair {surroundings}/alice~spoilt/journal.jsonl, or remove the folder" in said.err
    for words in ((), ("--state", "unknown")):
        found = {line["name"]: line["reason"] for line in run.json("list", *words)["jobs"] if not line["readable"]}
        assert sorted(found) == unreadable
        assert "(No such file or directory)" in found["alice~lost"]
        assert "(it is empty)" in found["alice~empty"]


def test_a_terminal_table_has_colours_and_escapes_markup(
    run: Runner, folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_result(folder, tasks=[task(0, node="[bold]n1\x1b[2J"), task(1)])
    monkeypatch.setattr("paislurm.translator.cli.output.tables.colourful", lambda _: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    out = run("status", "demo").out
    assert r"[bold]n1\x1b[2J" in out
    assert "\x1b[32mSUCCEEDED" in out


def test_a_job_is_not_tidied_while_its_end_is_unrecorded(run: Runner, slurm: FakeBackend, folder: JobFolder) -> None:
    claim(folder, "7", 1)
    ended(slurm, state="CANCELLED")
    with monitor_lock(Session()).taken():
        assert "STOPPED" in run("status", "demo").out
    assert folder.claim(0).exists()
    assert "STOPPED" in run("status", "demo").out
    assert not folder.claim(0).exists()

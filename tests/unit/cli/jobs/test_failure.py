"""Why a job failed, unasked: in `status`, `wait` and `submit --wait`, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.failed_task import command_place
from paislurm.translator.app.log_reading import last_lines
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.kept_plan import kept_plan
from paislurm.translator.times import format_time

from ...monitor.jobs import NOW, FakeBackend, leave_result, observed, task
from ..running import ME, Runner

TRIGGER = {"completion_rule": "C2", "role": "worker", "index": 1, "count": 1, "threshold": 1}
NO_RULE = "no rule of the exit specification matches exit status 3: code 255, PAIRuntimeUnknownFailed"
BOTH = ["set -x", "if true; then\n  nosuch\nfi"]


@pytest.fixture
def failed(slurm: FakeBackend, folder: JobFolder) -> JobFolder:
    """Leave a job whose second task decided by ending with status 3."""
    first = task(0, state="STOPPED", exit_status=143, exit_code=-220)
    second = task(1, state="FAILED", exit_status=3, exit_code=255, behaviour="unknown", node="n7")
    leave_result(folder, outcome="failed", exit_code=255, reason="no", trigger=TRIGGER, tasks=[first, second])
    slurm.observations[JobId("7")] = observed("FAILED", final=True)
    plan(folder.path)
    return folder


def plan(folder: Path, diagnostics: Sequence[dict[str, str]] = (), **changes: Any) -> None:
    command = {"text": "\n".join(BOTH), "item_lines": [[0, 12], [1, 14], [2, 15], [3, 16]]} | changes
    role = {"name": "worker", "command": command, "workdir": "task"}
    document = {"file": "my.yaml", "roles": [role], "diagnostics": diagnostics}
    (folder / "plan.json").write_text(json.dumps(document), encoding="utf-8")


def write_log(folder: JobFolder, name: str, text: str | bytes) -> None:
    path = folder.attempt(0) / "logs" / "0-worker" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def failure(run: Runner, *words: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(run(*(words or ("status", "demo")), "--json").out)["failure"]
    return shown


@pytest.mark.parametrize("shell", ["bash", "/bin/bash: line 7"])
def test_a_locale_that_a_node_lacks_is_no_cause(run: Runner, failed: JobFolder, shell: str) -> None:
    warning = f"{shell}: warning: setlocale: LC_ALL: cannot change locale (de_DE.UTF-8): No such file or directory\n"
    write_log(failed, "1.stderr.log", warning * 2)
    write_log(failed, "1.stdout.log", "loss is nan\n")
    found = failure(run)
    assert (found["stream"], found["last_lines"], found["last_words"]) == ("stdout", ["loss is nan"], "loss is nan")
    assert "file" not in found["meaning"]


def test_the_task_that_failed_the_job_is_shown_in_full(run: Runner, failed: JobFolder) -> None:
    write_log(failed, "1.stderr.log", "".join(f"error {k}\n" for k in range(30)))
    write_log(failed, "0.stderr.log", "not this one\n")
    found = failure(run)
    assert (found["task"], found["node"], found["exit_code"], found["exit_status"]) == ("worker-1", "n7", 255, 3)
    assert (found["file"], found["line"], found["last_line"], found["stream"]) == ("my.yaml", 12, 16, "stderr")
    assert found["last_lines"] == [f"error {k}" for k in range(20, 30)]
    assert failure(run, "wait", "demo") == found
    out = run("status", "demo").out
    for line in (
        f"failed by worker-1 on n7 at {format_time(NOW - 10)}: exit status 3. Last words: error 29",
        "  command: my.yaml, one of lines 12 to 16",
        f"exit rule  {NO_RULE}",
        "last lines of its standard error:",
        "  | error 29",
        f"usually    {found['meaning']}",
    ):
        assert line in out.splitlines()
    assert ("error 19" in out, "not this one" in out) == (False, False)
    for line in ("  | error 29\n", f"see: paislurm status {ME}; paislurm logs --stderr {ME} worker-1\n"):
        assert line in run("wait", "demo").err


def test_the_failing_line_recorded_by_bash_is_shown(run: Runner, failed: JobFolder) -> None:
    write_log(failed, "1.end.log", "\n3 3 0  nosuch ")
    assert (failure(run)["line"], failure(run)["last_line"]) == (15, 15)
    assert "  command: my.yaml:15: nosuch\n" in run("status", "demo").out


@pytest.mark.parametrize(
    "other", ["\n7 3 0  nosuch ", "\n3 9 0  x ", "\n3 0 0  fi ;; x ", "\n3 -3 0  x", "\n3 0 0  true; true"]
)
def test_a_record_of_another_exit_status_names_no_line(run: Runner, failed: JobFolder, other: str) -> None:
    write_log(failed, "1.end.log", other)
    assert (failure(run)["line"], failure(run)["last_line"]) == (12, 16)


@pytest.mark.parametrize(
    ("printed", "is_cause"),
    [
        ("cat: /data/x: No such file or directory", True),
        ("ModuleNotFoundError: No module named 'torch'", True),
        (
            "x: error while loading shared libraries: a.so: cannot open shared object file: No such file or directory",
            True,
        ),
        ("ValueError: 3", False),
    ],
)
@pytest.mark.parametrize("code", ["W402", "W202"])
def test_an_unused_image_is_reported_as_the_likely_cause(
    run: Runner, failed: JobFolder, printed: str, is_cause: bool, code: str
) -> None:
    write_log(failed, "1.stderr.log", f"{printed}\n")
    plan(failed.path, diagnostics=[{"code": code, "message": "the image is not used"}])
    is_cause &= code == "W402"
    assert failure(run)["cause"] == ("the image is not used" if is_cause else None)
    for said in (run("status", "demo").out, run("wait", "demo").err):
        assert ("likely     the image is not used\n" in said) is is_cause


def test_without_stderr_the_standard_output_is_shown(run: Runner, failed: JobFolder) -> None:
    write_log(failed, "1.stderr.log", "")
    write_log(failed, "1.stdout.log", "said\n")
    assert (failure(run)["stream"], failure(run)["last_lines"]) == ("stdout", ["said"])
    assert f"; paislurm logs {ME} worker-1\n" in run("wait", "demo").err


def test_a_failed_prerequisite_script_is_named(run: Runner, failed: JobFolder) -> None:
    write_log(failed, "1.stderr.log", "old\n")
    write_log(failed, "1.runtime.log", "no tools\n")
    scripts = failed.reports(0) / "0-worker"
    scripts.mkdir(parents=True)
    (scripts / "1.scripts").write_text("0 start 3 100 101 tools\n", encoding="utf-8")
    found = failure(run)
    assert (found["stream"], found["last_lines"], found["line"]) == ("runtime", ["no tools"], None)
    assert "paislurm logs --runtime" in run("wait", "demo").err


@pytest.mark.parametrize("state", ["RUNNING", "CANCELLED", "COMPLETED"])
def test_a_job_that_has_not_failed_has_no_failure(
    run: Runner, slurm: FakeBackend, folder: JobFolder, state: str
) -> None:
    if state == "COMPLETED":
        leave_result(folder)
    slurm.observations[JobId("7")] = observed(state, final=state != "RUNNING")
    assert failure(run) is None
    assert "exit rule" not in run("status", "demo").out


def test_control_characters_and_newlines_in_a_log_are_escaped(run: Runner, failed: JobFolder) -> None:
    write_log(failed, "1.stderr.log", b"10%\r20%\r\x1b[2Jdone\x9b\n" + b"\0" * 70_000 + b"\xff\n" + b"x" * 9000)
    plan(failed.path, text="\x1b[31m")
    said = run("wait", "demo").err
    assert ("\x1b" in said, "10%" in said, "my.yaml:12: \\x1b[31m" in said) == (False, False, True)
    assert max(map(len, said.splitlines())) < 260
    assert max(map(len, failure(run)["last_lines"])) <= 2000


@pytest.mark.parametrize(
    "changes",
    [{"text": 1}, {"item_lines": None}, {"item_lines": [[0]]}, {"item_lines": [["a", 1]]}, {"item_lines": [[5, 1]]}],
)
def test_a_damaged_plan_names_no_line(failed: JobFolder, changes: dict[str, Any]) -> None:
    plan(failed.path, **changes)
    assert command_place(kept_plan(failed.path), "worker", (), (), {}) is None


def test_an_unreadable_plan_names_no_line(failed: JobFolder) -> None:
    path = failed.path / "plan.json"
    for role, spoil in (("other", path.exists), ("worker", lambda: path.write_text("[")), ("worker", path.unlink)):
        spoil()
        assert command_place(kept_plan(failed.path), role, (), (), {}) is None


def test_a_log_of_another_user_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("mine\n", encoding="utf-8")
    assert last_lines(log, 10, log.stat().st_uid) == ("mine",)
    assert last_lines(log, 10, log.stat().st_uid + 1) == ()
    assert last_lines(tmp_path, 10, log.stat().st_uid) == ()

"""Jobs that fail on this machine: what is said of them, unasked, and how the tasks that did not decide are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ran import Ran
from ..running import Runner


def failure(run: Runner, done: Ran) -> tuple[dict[str, Any], str]:
    """Return what is known of the failure, and the line of the job file that it names."""
    shown = run.json("status", "demo")["failure"]
    return shown, (done.folder / "job.yaml").read_text(encoding="utf-8").splitlines()[shown["line"] - 1]


def test_a_command_that_is_not_found(run: Runner, ran: Callable[..., Ran]) -> None:
    done = ran(["echo begins", "nosuchprogram --fast"])
    assert (done.code, "exit status 127" in done.said.err, "command not found" in done.said.err) == (1, True, True)
    shown, line = failure(run, done)
    [stderr] = [line for line in done.log("stderr").splitlines() if "not found" in line]
    assert "nosuchprogram --fast" in line
    assert (shown["file"], shown["exit_code"], shown["last_lines"][-1]) == ("job.yaml", 220, stderr)
    assert f"job.yaml:{shown['line']}: nosuchprogram --fast" in done.said.err
    assert f"likely     {shown['cause']}\n" in done.said.err
    assert "names no container runtime" in shown["cause"]


def test_a_command_without_output_is_named(run: Runner, ran: Callable[..., Ran]) -> None:
    """What bash printed of a line before is no sign that this one failed."""
    done = ran(
        ["echo begins", "nosuchprogram || true", "f() {\n  test -e /nosuch\n}", "echo prepared >&2\nf\necho never"]
    )
    shown, line = failure(run, done)
    assert (shown["last_line"], "test -e /nosuch" in line) == (shown["line"], True)
    assert f"job.yaml:{shown['line']}: test -e /nosuch" in done.said.err


def test_recorded_command_ends_contain_no_secrets(run: Runner, ran: Callable[..., Ran]) -> None:
    """Nor is the line of a script in which a secret has lines."""
    secrets = {"one": "s3cret-one", "two": "s3cret\ntwo"}
    done = ran(["echo a", "test <% $secrets.one %> = b", "echo c"], secrets=secrets)
    assert "s3cret" not in (done.attempt / "logs" / "0-worker" / "0.end.log").read_text()
    shown, line = failure(run, done)
    assert (shown["last_line"], "test <% $secrets.one %> = b" in line) == (shown["line"], True)


def test_newlines_in_a_secret_do_not_shift_job_file_lines(run: Runner, ran: Callable[..., Ran]) -> None:
    done = ran(["echo '<% $secrets.two %>' >/dev/null", "false", "echo c"], secrets={"two": "a\nb"})
    shown, _ = failure(run, done)
    assert shown["last_line"] - shown["line"] == 2
    assert not (done.attempt / "logs" / "0-worker" / "0.end.log").exists()


def test_a_failed_task_is_not_reported_as_stopped(ran: Callable[..., Ran]) -> None:
    """Both failed in the same moment: one decided, and the other one is FAILED all the same."""
    together = "touch ../$FC_TASK_INDEX; until [ -e ../0 ] && [ -e ../1 ]; do :; done; exit 4"
    done = ran([together], taskRoles__worker__instances=2)
    assert set(done.states.values()) == {"FAILED"}
    assert [task["exit_code"] for task in done.result["tasks"]] == [255, 255]
    assert done.result["reason"].endswith("with status 4: 1 failed task of role worker ends the job")


def test_a_task_that_fails_while_stopping_is_reported_as_stopped(ran: Callable[..., Ran]) -> None:
    waits = "trap 'exit 7' TERM; touch ../ready; while :; do sleep 1 & wait $!; done"
    fails = "until [ -e ../ready ]; do :; done; exit 4"
    done = ran([f'if [ "$FC_TASK_INDEX" = 0 ]; then {waits}; fi; {fails}'], taskRoles__worker__instances=2)
    assert done.states == {"worker-0": "STOPPED", "worker-1": "FAILED"}
    assert [(task["exit_status"], task["exit_code"]) for task in done.result["tasks"]] == [(7, -220), (4, 255)]

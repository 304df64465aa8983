"""OpenPAI's rules for retries and exit codes, seen from real jobs on this machine."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..ran import Ran, plugins, script


def test_a_prerequisite_named_ssh_is_not_the_barrier_of_the_plugin(ran: Callable[..., Ran]) -> None:
    """A prerequisite has the name and the status of the plugin's, and what it says."""
    command = "echo SSH barrier reaches max retry count; exit 10"
    done = ran(["echo never"], [script("ssh", ("taskStarts", command))], taskRoles__worker__prerequisites=["ssh"])
    assert (done.result["exit_code"], done.result["behaviour"]) == (255, "unknown")
    assert "in the prerequisite ssh, before its commands" in done.result["reason"]


@pytest.mark.parametrize(
    ("event", "when"), [("taskStarts", "before its commands"), ("taskSucceeds", "after its commands succeeded")]
)
def test_the_reason_names_the_script_that_failed(ran: Callable[..., Ran], event: str, when: str) -> None:
    """Those that are ignored are no reason, nor is one of an attempt before."""
    fails = "[[ -e again ]] && exit 3; touch again; exit 4"
    done = ran(
        ["true"],
        [
            script("good", ("taskStarts", "true"), require=["ignored"]),
            script("bad", (event, fails)),
            script("ignored", ("taskStarts", "false"), ("containerExit", "exit 6"), failurePolicy="ignore"),
        ],
        taskRoles__worker__prerequisites=["good", "bad"],
        taskRoles__worker__taskRetryCount=1,
        extras={"gangAllocation": False},
    )
    words = (
        f"task worker-0 failed with status 3 in the prerequisite bad, {when}: 1 failed task of role worker ends the job"
    )
    assert done.result["reason"] == words


def test_commands_that_fail_after_an_ignored_script_are_the_reason(ran: Callable[..., Ran]) -> None:
    done = ran(
        ["exit 7"],
        [script("bad", ("taskStarts", "[[ -e again ]] || { touch again; exit 4; }"))],
        taskRoles__worker__prerequisites=["bad"],
        taskRoles__worker__taskRetryCount=1,
        extras={"gangAllocation": False},
    )
    assert done.result["reason"] == "task worker-0 failed with status 7: 1 failed task of role worker ends the job"


def test_the_reason_names_a_failed_plugin(ran: Callable[..., Ran]) -> None:
    done = ran(["true"], extras=plugins({"plugin": "cmd", "parameters": {"preCommands": ["exit 9"]}}))
    assert "failed with status 9 in the plugin cmd, before its commands" in done.result["reason"]


def test_only_output_of_the_commands_decides_the_exit_code(ran: Callable[..., Ran]) -> None:
    """Before, between and after them others print what would make 232."""
    harmless = "echo ImportError: harmless; echo ImportError: harmless >&2"
    done = ran(
        ["echo mine >&2; exit 1"],
        [
            script("a", ("taskStarts", harmless), ("containerExit", f"{harmless}; false"), require=["b"]),
            script("b", ("taskStarts", f"{harmless}; false"), failurePolicy="ignore"),
        ],
        taskRoles__worker__prerequisites=["a"],
        extras=plugins({"plugin": "cmd", "parameters": {"preCommands": [harmless]}}),
    )
    assert (done.result["exit_code"], done.log("runtime")) == (255, "ImportError: harmless\n" * 8)
    assert [line for line in done.log("stderr").splitlines() if not line.startswith("paislurm: ")] == ["mine"]


def test_output_of_a_failed_start_script_is_not_that_of_the_commands(ran: Callable[..., Ran]) -> None:
    start = script("a", ("taskStarts", "echo ImportError: here >&2; exit 1"))
    done = ran(["echo never"], [start], taskRoles__worker__prerequisites=["a"])
    assert (done.result["exit_code"], done.log("runtime")) == (255, "ImportError: here\n")
    assert f"what it printed is in {done.attempt}/logs/0-worker/0.runtime.log" in done.log("stderr")


def test_output_of_the_commands_decides_the_exit_code(ran: Callable[..., Ran]) -> None:
    assert ran(["echo ImportError: mine >&2; exit 1"]).result["exit_code"] == 232


@pytest.mark.parametrize(
    ("compat", "runs", "code"),
    [({}, 3, 255), ({"exitPatterns": "original"}, 3, 255), ({"exitPatterns": "fixed"}, 1, 229)],
)
def test_a_missing_file_is_retried_as_on_openpai(
    ran: Callable[..., Ran], compat: dict[str, str], runs: int, code: int
) -> None:
    """Its expression has brackets that are not escaped."""
    done = ran(
        ["echo run >>runs; echo \"FileNotFoundError: [Errno 2] No such file or directory: '/x'\" >&2; exit 1"],
        taskRoles__worker__taskRetryCount=2,
        extras={"gangAllocation": False, "slurm": {"compat": compat}},
    )
    assert (done.code, done.result["exit_code"], (done.work() / "runs").read_text()) == (1, code, "run\n" * runs)

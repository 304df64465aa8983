"""`explain`: the meaning of a code, and what happens in a scenario."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .running import JOB, Runner, job_file


def test_the_command_prints_the_answer(run: Runner, tmp_path: Path) -> None:
    file = job_file(tmp_path, JOB.replace("  worker:", "  ps:"))
    said = run("explain", file, "--when", "ps exits 0")
    assert (said.code, said.out.splitlines()[:2]) == (0, ["attempt 1", "  event   ps exits 0: ps-[0-1]: success"])
    document = json.loads(run("explain", file, "--when", "ps exits 1", "--json").out)
    assert document["attempts"][0]["events"][0]["task_ends"][0]["exit_code"] == 255
    document = json.loads(run("explain", file, "--when", "all exit 0", "--json").out)
    assert document["attempts"][0]["behaviour"] == "success"
    run("explain", file, "--when", "ps faels").ends(2, "--when:1:1\nerror E547: `ps faels` is not an event")


@pytest.mark.parametrize(
    ("word", "means", "helps"),
    [
        ("1", "Python", "by hand"), ("2", "command line", "check"), ("126", "executed", "chmod"),
        ("127", "not found", "PATH"), ("137", "memory", "memoryMB"), ("139", "SEGV", "faulthandler"),
        ("143", "request to exit", "save"), ("255", "no rule", "standard error"), ("138", "signal USR1 (10)", "signal"),
        ("TIMEOUT", "time limit", "extras.slurm.time"), ("OOM", "memory", "memoryMB"),
        ("NODE_FAIL", "node", "sinfo -R"), ("PREEMPTED", "priority", "checkpoints"),
        ("CANCELLED", "stopped", "cancelled"),
    ],
)  # fmt: skip
def test_explain_shows_meaning_and_advice(run: Runner, word: str, means: str, helps: str) -> None:
    out = run("explain", word).out
    rows = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    assert means in rows["usually"]
    assert helps in rows["look at"] + rows["try"]


def test_a_code_is_explained(run: Runner, tmp_path: Path) -> None:
    for words, shown in {
        "220": "found by     exit status 127 and a line of the log matches: command not found",
        "128": "exit status  a command with this exit status gets code 255",
        "9999": "behaviour    unknown: retried up to `jobRetryCount` times",
    }.items():
        assert shown in run("explain", words).out
    assert "\nexit status" not in run("explain", "137").out
    unknown = run("explain", "9999").out
    assert "usually      a code without a rule" in unknown
    assert not any(word in unknown for word in ("cluster", "platform", "RUNTIME"))
    site = job_file(tmp_path, "exitSpec: [{code: -1001, behaviour: permanent}]\n", "own.yaml")
    assert run.json("explain", "-1001", "--site", site)["retry_rule"] == "never retried"
    assert run("explain", "NODE_FALL").code == 5


def test_a_file_comes_before_a_code(run: Runner, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(job).rename("220")
    assert run("explain", "220").out == run("explain", "./220").out
    assert "PodNodeLost" in run("explain", "--json", "-1001").out

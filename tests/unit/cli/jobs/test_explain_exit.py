"""What `explain-exit` prints."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner


def test_a_code_is_explained(run: Runner, tmp_path: Path) -> None:
    shown = run("explain-exit", "220").out
    assert "found by     exit status 127 and a line of the log matches: command not found" in shown
    assert "\nexit status" not in run("explain-exit", "137").out
    ecc = run("explain-exit", "128").out
    assert "exit status  a command with this exit status gets code 255" in ecc
    unknown = run("explain-exit", "9999").out
    assert "usually      a code without a rule" in unknown
    assert "behaviour    unknown: retried up to `jobRetryCount` times" in unknown
    assert not any(word in unknown for word in ("cluster", "platform", "RUNTIME"))
    site = tmp_path / "own.yaml"
    site.write_text("exitSpec: [{code: -1001, behaviour: permanent}]\n", encoding="utf-8")
    assert json.loads(run("explain-exit", "-1001", "--site", str(site), "--json").out)["retry_rule"] == "never retried"
    assert run("explain-exit", "NODE_FALL").code == 5


@pytest.mark.parametrize(
    ("state", "reporter", "causer"),
    [
        ("PREEMPTED", "Slurm", "the cluster"),
        ("NODE_FAIL", "Slurm", "the cluster"),
        ("TIMEOUT", "Slurm", "a user's cancel, or a time limit"),
        ("OUT_OF_MEMORY", "the container runtime, or Slurm", "the job"),
    ],
)
def test_a_slurm_state_has_a_reporter_and_a_causer(run: Runner, state: str, reporter: str, causer: str) -> None:
    shown = run("explain-exit", state).out
    assert re.findall(r"^(?:reported|caused) by +(.*)$", shown, re.MULTILINE) == [reporter, causer]

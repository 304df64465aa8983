"""What `explain CODE` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..running import Runner


def test_a_code_is_explained(run: Runner, tmp_path: Path) -> None:
    shown = run("explain", "220").out
    assert "found by     exit status 127 and a line of the log matches: command not found" in shown
    assert "\nexit status" not in run("explain", "137").out
    ecc = run("explain", "128").out
    assert "exit status  a command with this exit status gets code 255" in ecc
    unknown = run("explain", "9999").out
    assert "usually      a code without a rule" in unknown
    assert "behaviour    unknown: retried up to `jobRetryCount` times" in unknown
    assert not any(word in unknown for word in ("cluster", "platform", "RUNTIME"))
    site = tmp_path / "own.yaml"
    site.write_text("exitSpec: [{code: -1001, behaviour: permanent}]\n", encoding="utf-8")
    assert run.json("explain", "-1001", "--site", str(site))["retry_rule"] == "never retried"
    assert run("explain", "NODE_FALL").code == 5


def test_a_file_comes_before_a_code(run: Runner, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(job).rename("220")
    assert run("explain", "220").out == run("explain", "./220").out
    assert "PodNodeLost" in run("explain", "--json", "-1001").out

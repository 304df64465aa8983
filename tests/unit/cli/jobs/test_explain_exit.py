"""`explain-exit` answers for every code and every state that Slurm has."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from paislurm.backends.slurm.states import CAUSES, STATES, Phase
from paislurm.translator.exit_codes.table import ExitTable, exit_codes

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

STATES_OF_SLURM = """
BOOT_FAIL CANCELLED COMPLETED COMPLETING CONFIGURING DEADLINE EXPEDITING FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY
PENDING POWER_UP_NODE PREEMPTED RECONFIG_FAIL REQUEUED REQUEUE_FED REQUEUE_HOLD RESIZING RESV_DEL_HOLD REVOKED RUNNING
SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED SUSPENDED TIMEOUT UPDATE_DB
"""
"""Source: squeue(1) and sacct(1), JOB STATE CODES, of 20.11 to 26.05."""

ENDS = {
    "BOOT_FAIL": (-1006, "transient"),
    "CANCELLED": (-210, "permanent"),
    "COMPLETED": (0, "unknown"),
    "DEADLINE": (-1004, "permanent"),
    "FAILED": (255, "unknown"),
    "LAUNCH_FAILED": (-1006, "transient"),
    "NODE_FAIL": (-1001, "transient"),
    "OUT_OF_MEMORY": (-1200, "permanent"),
    "PREEMPTED": (-1003, "transient"),
    "RECONFIG_FAIL": (-1006, "transient"),
    "REVOKED": (-101, "transient"),
    "TIMEOUT": (-1004, "permanent"),
}


@pytest.mark.parametrize("word", STATES_OF_SLURM.split())
def test_every_state_is_explained(run: Runner, word: str) -> None:
    said = run("explain-exit", word, "--json")
    document = json.loads(said.out)
    assert (said.code, said.err, document["backend_state"]) == (0, "", word)
    assert (document.get("exit_code"), document.get("behaviour")) == ENDS.get(word, (None, None))
    assert document["meaning"]


def test_ends_are_those_that_slurm_ranks() -> None:
    assert set(ExitTable().states) == set(CAUSES) == {w for w, (_, p) in STATES.items() if p is Phase.ENDED}
    assert set(STATES) == set(STATES_OF_SLURM.split())


@pytest.mark.parametrize("code", sorted(exit_codes()))
def test_every_code_is_explained(run: Runner, code: int) -> None:
    said = run("explain-exit", str(code))
    assert said.code == 0
    assert exit_codes()[code].phrase in said.out


def test_codes_without_a_row_keep_their_number(run: Runner) -> None:
    shown = run("explain-exit", "77").out
    assert "77" in shown
    assert "PAIRuntimeExitAbnormally" in shown
    assert "ContainerUndefinedNegativeExitCode" in run("explain-exit", "-77").out


@pytest.mark.parametrize("code", ["9999", "-9999"])
def test_a_code_that_nobody_has_is_no_failure_of_the_cluster(run: Runner, tmp_path: Path, code: str) -> None:
    shown = run("explain-exit", code).out
    assert "usually      a code that no rule knows" in shown
    assert "behaviour    unknown: retried as often as `jobRetryCount` says" in shown
    assert not any(word in shown for word in ("cluster", "platform", "RUNTIME"))
    assert json.loads(run("explain-exit", code, "--json").out)["meaning"].startswith("a code that no rule knows")
    site = tmp_path / "own.yaml"
    site.write_text(f"exitSpec: [{{code: {code}, phrase: Ours, behaviour: transient}}]\n")
    assert "no rule knows" not in run("explain-exit", code, "--site", str(site)).out


def test_an_exit_status_without_a_code_is_a_commands_own(run: Runner) -> None:
    assert "a failure of which the exit specification knows no more" in run("explain-exit", "200").out
    assert "an exit status that the command chose itself" in run("explain-exit", "42").out


@pytest.mark.parametrize(
    ("word", "code"), [("NF", -1001), ("node_fail", -1001), ("podnodelost", -1001), ("OOM", -1200)]
)
def test_other_words_for_the_same(run: Runner, word: str, code: int) -> None:
    assert json.loads(run("explain-exit", "--json", word).out)["exit_code"] == code


def test_what_a_log_must_hold_is_shown(run: Runner) -> None:
    shown = run("explain-exit", "220").out
    assert "found by     exit status 127 and a line of its log matches: command not found" in shown


def test_words_that_mean_nothing(run: Runner) -> None:
    said = run("explain-exit", "NODE_FALL")
    assert said.code == 5
    assert "did you mean `NODE_FAIL`?" in said.err
    hint = run("explain-exit", "FOO").err.partition("hint: ")[2]
    assert "numbers such as 137 or -1001" in hint
    assert "NODE_FAIL" in hint
    assert "PREEMPTED" in hint


def test_a_site_changes_a_row(run: Runner, tmp_path: Path) -> None:
    site = tmp_path / "own.yaml"
    site.write_text("exitSpec: [{code: 137, behaviour: permanent}, {code: -1003, states: {CANCELLED: taken}}]\n")
    assert "never retried" in run("explain-exit", "137", "--site", str(site)).out
    changed = json.loads(run("explain-exit", "CANCELLED", "--site", str(site), "--json").out)
    assert (changed["exit_code"], changed["meaning"], changed["behaviour"]) == (-1003, "taken", "transient")


@pytest.mark.parametrize(
    ("state", "reporter", "causer"),
    [
        ("PREEMPTED", "Slurm", "the cluster"),
        ("NODE_FAIL", "Slurm", "the cluster"),
        ("TIMEOUT", "Slurm", "a user's cancel, or a time limit"),
        ("OUT_OF_MEMORY", "the container runtime, or Slurm", "the job"),
    ],
)
def test_who_ended_a_job_is_told_for_slurm(run: Runner, state: str, reporter: str, causer: str) -> None:
    shown = run("explain-exit", state).out
    assert re.findall(r"^(?:reported|caused) by +(.*)$", shown, re.MULTILINE) == [reporter, causer]


def test_no_word_of_openpai_for_who_ended_a_job_is_left_as_it_is() -> None:
    for row in exit_codes().values():
        assert bool(row.reported_by) is (row.issuer != "UNKNOWN")
        assert bool(row.caused_by) is (row.causer != "UNKNOWN")


def test_no_signal_has_a_number_above_31(run: Runner) -> None:
    assert "signal" not in run("explain-exit", "183").out
    assert "signal" in run("explain-exit", "155").out

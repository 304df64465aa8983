"""Tests of the explanations of exit codes and Slurm's job states."""

from __future__ import annotations

import pytest

from paislurm.backends.slurm.job_states import CAUSES, STATES, Phase
from paislurm.translator.app.exit_meaning import explained
from paislurm.translator.app.session import Session
from paislurm.translator.errors import NotFoundError
from paislurm.translator.exit_codes.table import ExitTable, exit_codes
from paislurm.translator.site.load import load_site

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
TABLE = ExitTable()


def of_site(rows: str) -> ExitTable:
    return ExitTable(load_site(f"exitSpec: {rows}\n", file="site.yaml").exit_rows)


def test_every_state_is_explained() -> None:
    for word in STATES_OF_SLURM.split():
        found = explained(word, TABLE).record
        assert (found.backend_state, bool(found.meaning)) == (word, True)
        assert (found.exit_code, found.behaviour) == ENDS.get(word, (None, None))
    assert set(TABLE.states) == set(CAUSES) == {w for w, (_, p) in STATES.items() if p is Phase.ENDED}
    assert set(STATES) == set(STATES_OF_SLURM.split())


def test_every_code_is_explained() -> None:
    for code, row in exit_codes().items():
        found = explained(str(code), TABLE).record
        assert (found.exit_code, found.phrase, found.type) == (code, row.phrase, row.type)
    others = [explained(word, TABLE).record for word in ("77", "-77")]
    assert [(each.exit_code, each.phrase) for each in others] == [
        (77, "PAIRuntimeExitAbnormally"),
        (-77, "ContainerUndefinedNegativeExitCode"),
    ]


@pytest.mark.parametrize("code", ["9999", "-9999"])
def test_an_unknown_code_has_unknown_behaviour(code: str) -> None:
    found = explained(code, TABLE).record
    assert ((found.meaning or "")[:21], found.behaviour) == ("a code without a rule", "unknown")
    own = explained(code, of_site(f"[{{code: {code}, phrase: Ours, behaviour: transient}}]")).record
    assert not (own.meaning or "").startswith("a code without a rule")


def test_an_exit_status_without_a_rule_comes_from_the_command() -> None:
    meanings = [explained(word, TABLE).record.meaning or "" for word in ("200", "42")]
    assert meanings == ["an exit status that the command itself chose"] * 2
    assert ["signal" in str(explained(word, TABLE).record) for word in ("183", "155")] == [False, True]


@pytest.mark.parametrize(
    ("word", "code"), [("NF", -1001), ("node_fail", -1001), ("podnodelost", -1001), ("OOM", -1200)]
)
def test_synonyms(word: str, code: int) -> None:
    assert explained(word, TABLE).record.exit_code == code


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        ("0:0", "0"), ("9:0", "9"), ("137:0", "137"), ("0:9", "137"), ("0:15", "143"), ("0:125", "OUT_OF_MEMORY"),
        ("1:0", "1"), ("0:53", "-1405"), ("ExitCode=0:9", "137"), ("DerivedExitCode=2:0", "2"),
        ("SIGKILL", "137"), ("sigterm", "143"), ("signal 9", "137"), ("Signal 9", "137"), ("signal KILL (9)", "137"),
        ("signal SIGKILL", "137"), ("KILL", "137"), ("SIGUSR1", "138"), ("FAILED (exit code 1)", "1"),
        ("State: OUT_OF_MEMORY (exit code 0)", "OUT_OF_MEMORY"), ("COMPLETED (exit code 0)", "COMPLETED"),
        ("CANCELLED by 1000", "CANCELLED"), ("OUT_OF_ME+", "OUT_OF_MEMORY"), ("CANCELLED+", "CANCELLED"),
    ],
)  # fmt: skip
def test_what_sacct_seff_and_scontrol_print_is_read(printed: str, plain: str) -> None:
    assert Session().compiler.is_exit(printed)
    assert explained(printed, TABLE).record == explained(plain, TABLE).record


@pytest.mark.parametrize("word", ["0:99", "1:2:3", "signal 99", "signal", "SIGNOTHING", "9:", "job:1.yaml", "a file"])
def test_other_text_is_no_exit(word: str) -> None:
    assert not Session().compiler.is_exit(word) or word.isalpha()
    with pytest.raises(NotFoundError):
        explained(word, TABLE)


def test_unknown_words_are_refused() -> None:
    words = r"numbers such as 137 or -1001.*NODE_FAIL.*PREEMPTED"
    for word, says in (("NODE_FALL", "did you mean `NODE_FAIL`"), ("FOO", words)):
        with pytest.raises(NotFoundError, match=says):
            explained(word, TABLE)


def test_a_site_changes_a_row() -> None:
    table = of_site("[{code: 137, behaviour: permanent}, {code: -1003, states: {CANCELLED: taken}}]")
    assert explained("137", table).record.retry_rule == "never retried"
    changed = explained("CANCELLED", table).record
    assert (changed.exit_code, changed.meaning, changed.behaviour) == (-1003, "taken", "transient")
    rows = (TABLE, of_site("[{code: -1001, excludeNode: false}]"), of_site("[{code: -1001}]"))
    assert [row.describe(-1001).exclude_node for row in rows] == [True, False, True]


def test_issuers_and_causers_of_openpai_are_translated() -> None:
    for row in exit_codes().values():
        assert [bool(row.reported_by), bool(row.caused_by)] == [each != "UNKNOWN" for each in (row.issuer, row.causer)]


def test_every_code_and_status_has_advice() -> None:
    for number in {*exit_codes(), *range(1, 256)}:
        said = explained(str(number), TABLE).record
        assert said.meaning, number
        assert "{signal}" not in said.meaning, number
        assert (said.advice or "").startswith("look at "), number
        assert "; try: " in (said.advice or ""), number

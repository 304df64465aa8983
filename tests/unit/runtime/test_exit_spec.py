"""What the bash makes of a failure is what the table says, row by row."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paislurm.translator.exit_codes.table import ExitRule, exit_rules
from paislurm.translator.rendering.shell import quote

from ..written_files import write_programs
from .bash import run

RULES = exit_rules("fixed")
PRINTABLE = st.characters(min_codepoint=32, max_codepoint=126)
CLASSIFY = """
killed_for_memory() { return 1; }
PSL_ROLE_GPUS=(0)
for folder in "$1"/*; do
  PSL_ANY_PATTERN_MATCHES=
  print_exit "$(<"$folder/status")" 0 "$folder/stdout" "$folder/stderr"
done
"""


def table(rules: tuple[ExitRule, ...]) -> str:
    return "PSL_EXIT_RULES=(\n" + "".join(f"{quote(rule.text)}\n" for rule in rules) + ")\n"


def lay_out(case: Path, status: int, stdout: bytes | str = "", stderr: bytes | str = "") -> None:
    """Write the status and the logs of a task that failed."""
    case.mkdir()
    for name, text in (("status", str(status)), ("stdout", stdout), ("stderr", stderr)):
        (case / name).write_bytes(text.encode() if isinstance(text, str) else text)


def model(status: int, text: str) -> tuple[int, str]:
    for rule in RULES:
        if rule.status in ("any", str(status)) and re.search(rule.pattern, text, re.IGNORECASE):
            return rule.code, rule.behaviour
    return 255, "unknown"


@pytest.mark.slow("texts for each row of the exit specification")
@settings(deadline=None, max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_row_matches_its_output(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("cases")
    wanted = []
    for number, rule in enumerate(rule for rule in RULES if rule.status != "ecc"):
        status = int(rule.status) if rule.status != "any" else 1
        text = data.draw(st.from_regex(rule.pattern, fullmatch=True, alphabet=PRINTABLE)) if rule.pattern else ""
        text = data.draw(st.sampled_from([text, text.upper(), f"first\n... {text} ...\nlast"]))
        lay_out(folder / f"{number:03}", status, **{data.draw(st.sampled_from(["stdout", "stderr"])): text})
        wanted.append(model(status, text))
        assert wanted[-1] != (255, "unknown")
    said = run(table(RULES) + CLASSIFY, str(folder)).splitlines()
    assert [(int(line.split()[0]), line.split()[1]) for line in said] == wanted


LOGS = Path(__file__).with_name("openpai_exit_codes.jsonl")
"""Exit statuses and logs, with the codes of OpenPAI's exit handler, and ours where a difference is wanted, `because`.

`log` has texts, or texts and how often they are repeated; a character is a byte. Source: its program, at 59ec6d17, with
the rules of microsoft/pai, run over these logs.
"""
ROWS = tuple(map(json.loads, LOGS.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow("50 logs, each searched for up to 38 expressions")
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_failures_get_the_codes_of_openpais_handler(tmp_path: Path, first: int) -> None:
    rows = ROWS[first : first + 50]
    for number, row in enumerate(rows):
        pieces = ((piece, 1) if isinstance(piece, str) else piece for piece in row["log"])
        log = b"".join(text.encode("latin-1") * times for text, times in pieces)
        lay_out(tmp_path / f"{number:02}", row["status"], **{"stdout" if number % 2 else "stderr": log})
    said = run(table(exit_rules("original")) + CLASSIFY, str(tmp_path)).splitlines()
    behaviours = {rule.code: rule.behaviour for rule in exit_rules("original")} | {255: "unknown"}
    wanted = [row.get("ours", row["code"]) for row in rows]
    found = [(row["log"], line) for row, line in zip(rows, said, strict=True)]
    assert found == [(row["log"], f"{code} {behaviours[code]}") for row, code in zip(rows, wanted, strict=True)]


def test_only_wanted_differences_from_openpais_handler_remain() -> None:
    assert (len(ROWS), len({json.dumps([row["status"], row["log"]]) for row in ROWS})) == (300, 300)
    assert {row["because"] for row in ROWS if row.get("ours", row["code"]) != row["code"]} == {
        "its handler crashes, and the failure is then unexplained too",
        "a letter equals an ASCII letter in Unicode only",
        "the line is paislurm's own, about a hook",
    }


def test_blanks_around_an_expression_are_significant(tmp_path: Path) -> None:
    for name, text in (("0", "no argument  to"), ("1", "argument to 5"), ("2", "no argument to 5")):
        lay_out(tmp_path / name, 1, text)
    rule = ExitRule(code=9, behaviour="permanent", status="any", pattern=" argument to ")
    said = run(table((rule,)) + CLASSIFY, str(tmp_path)).splitlines()
    assert said == ["255 unknown", "255 unknown", "9 permanent"]


@pytest.mark.parametrize("wanted", ["fixed", "original"])
def test_a_python_io_error_is_not_a_data_error(tmp_path: Path, wanted: Literal["fixed", "original"]) -> None:
    """OpenPAI gave its rule up, since a disk or a network may be at fault. The others of its kind stand."""
    said = ("OSError: [Errno 5] Input/output error", "cp: failed to close 'x': Input/output error")
    for name, text in zip("01", said, strict=True):
        lay_out(tmp_path / name, 1, stderr=f"Traceback\n{text}\n")
    codes = run(table(exit_rules(wanted)) + CLASSIFY, str(tmp_path)).splitlines()
    assert codes == ["255 unknown", "229 permanent"]


def test_messages_of_the_script_itself_are_not_searched(tmp_path: Path) -> None:
    """Its messages have names of the job's in them."""
    ours = (
        "paislurm: error: UnpicklingError failed with status 1 (start); what it printed is in /core dumped/runtime.log"
    )
    for name, text in (("0", f"{ours}\n"), ("1", f"{ours}\nUnpicklingError\n"), ("2", f"paislurm\n{ours[10:]}")):
        lay_out(tmp_path / name, 1, "out\n", text)
    codes = run(table(RULES) + CLASSIFY, str(tmp_path)).splitlines()
    assert codes == ["255 unknown", "231 permanent", "231 permanent"]


CLASSIC = """
GPU 00000000:3B:00.0
    Ecc Mode
        Current                     : Enabled
    ECC Errors
        Volatile
            Single Bit
                Device Memory       : 5
                Total               : 5
            Double Bit
                Device Memory       : {device}
                Texture Shared      : N/A
                Total               : {device}
        Aggregate
            Single Bit
                Total               : 7
            Double Bit
                Device Memory       : {before}
                Total               : {before}
"""
"""Of GPUs before Turing. Source: nvidia-smi(1), ECC Errors."""
NEW = """
GPU 00000000:3B:00.0
    ECC Errors
        Volatile
            SRAM Correctable        : 4
            SRAM Uncorrectable      : {device}
            DRAM Correctable        : 4
            DRAM Uncorrectable      : 0
        Aggregate
            SRAM Uncorrectable      : {before}
            DRAM Uncorrectable      : {before}
"""
"""Of GPUs from Turing on. Source: nvidia-smi(1), ECC Errors."""


@pytest.mark.parametrize("layout", [CLASSIC, NEW], ids=["classic", "new"])
@pytest.mark.parametrize(("device", "before", "code"), [(0, 0, 255), (0, 3, 255), (2, 2, 128), (10, 0, 128)])
def test_a_gpu_memory_error_is_detected(tmp_path: Path, layout: str, device: int, before: int, code: int) -> None:
    """Errors since the driver was loaded count, those of the card's whole life do not. The second GPU has it."""
    said = layout.format(device=0, before=before) + layout.format(device=device, before=before)
    write_programs(tmp_path, {"nvidia-smi": f"#!/bin/sh\ncat <<'END'\n{said}END\n"})
    printed = "PSL_ROLE_GPUS=(1); print_exit 1 0 /dev/null /dev/null"
    assert run(table(RULES) + printed, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).split()[0] == str(code)

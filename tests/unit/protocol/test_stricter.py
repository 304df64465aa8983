"""The page of what is stricter than OpenPAI: every example is, nothing is missing, and every message helps."""

from __future__ import annotations

import json
import os
import random
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.app.input.local_checks import bash_syntax_errors
from paislurm.translator.errors import Diagnostic, PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.reading.document import path_text
from paislurm.translator.reading.read import read

from .openpai.mutations import JOBS, as_on_pages, changed, judged, kind, mutants, places, reported
from .openpai.page import PAGE, WRITTEN, Row, is_listed, rows, with_example
from .openpai.server import refusal

ROWS = [row for row in rows() if row.section != WRITTEN]
TEXTS = [row for row in rows() if row.section == WRITTEN]
USUAL = {name: {kind(each) for each in reported(job)} for name, job in JOBS.items()}
CASES = [
    pytest.param(row, key, id=f"{row.code} {key.rsplit('.', 1)[-1]}: {row.example}"[:80])
    for row in ROWS
    for key in row.keys
    if "*" not in key
]
TEXT_FILES = {
    "v2": """\
protocolVersion: 2
name: text
type: job
prerequisites: [{name: image, type: dockerimage, uri: "python:3.11"}]
taskRoles: {worker: {dockerImage: image, resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}, commands: [ls]}}
%s
""",
    "v1": '{"jobName": "text", "image": "python:3.11", "taskRoles": [{"name": "worker", "command": "ls"}]%s}',
}


def usual_job(row: Row) -> str:
    return "full of v1" if "v1" in row.section else "full"


def at_key(row: Row, key: str, piece: str) -> dict[str, Any]:
    """Return the job that a piece of a row makes at one of its keys; pieces are written for the first one."""
    first, own = (each.rsplit(".", 1)[-1] for each in (row.keys[0], key))
    piece = piece.replace(f"{first}: ", f"{own}: ", 1)
    made: dict[str, Any] = json.loads(json.dumps(with_example(JOBS[usual_job(row)], key, piece)))
    return made


def said(row: Row, job: dict[str, Any]) -> list[Diagnostic]:
    """Return what is said of a job, but for what is said of the usual one and not in the row."""
    found = reported(job)
    if row.code == "E350":
        text = json.dumps(job, indent=1)
        found += bash_syntax_errors(compile_job(text).job, read(text, file="job.yaml"), os.environ)
    return [each for each in found if each.code == row.code or kind(each) not in USUAL[usual_job(row)]]


@pytest.mark.parametrize(("row", "key"), CASES)
def test_openpai_accepts_the_example_and_paislurm_reports_an_error(row: Row, key: str) -> None:
    job = at_key(row, key, row.example)
    assert refusal(job) == ""
    found = said(row, job)
    told_of = {kind(each) for each in found if each.code == row.code}
    assert (row.code, key) in told_of
    assert told_of <= {(row.code, each) for each in row.keys}
    assert row.code[0] == "W" or {each.code for each in found if each.code[0] == "E"} == {row.code}
    for each in found:
        assert each.location
        assert each.location.line
        assert each.hint or each.message.startswith(("expected ", "bash ")) or each.code == "W402", each


@pytest.mark.parametrize(("row", "key"), [case for case in CASES if case.values[0].instead])
def test_the_suggested_replacement_is_valid(row: Row, key: str) -> None:
    job = at_key(row, key, row.instead)
    assert refusal(job) == ""
    assert [each for each in said(row, job) if each.code == row.code or each.code[0] == "E"] == []


@pytest.mark.parametrize("protocol", ["1", "2"])
def test_the_base_jobs_contain_every_effective_key(protocol: str) -> None:
    page = PAGE.with_name("job-file.md").read_text(encoding="utf-8")
    _, _, section = page.partition(f"## Protocol v{protocol}\n")
    keys = set(
        re.findall(r"^\| `([^`]+)` \| .* \| .* \|$", section.partition("\n## ")[0].partition("\n### ")[0], re.MULTILINE)
    )
    held = {as_on_pages(path_text(path)) for job in JOBS.values() for path, _ in places(job)}
    assert keys - held == {"extras.slurm"}


@pytest.mark.parametrize("number", [1, pytest.param(10, marks=pytest.mark.slow("thousands of jobs"))])
@pytest.mark.parametrize("name", JOBS)
def test_the_page_lists_every_stricter_rule_and_no_rule_is_laxer(name: str, number: int) -> None:
    """Try some changes of each value; `python -m tests.unit.protocol.openpai.mutations` tries all."""
    chooser = random.Random(number)
    for _, changes in groupby(mutants(JOBS[name]), key=itemgetter(0)):
        for change in chooser.sample([*changes], number):
            laxer, found = judged(changed(JOBS[name], *change), USUAL[name])
            assert not laxer, change
            assert [each for each in found if not is_listed(*kind(each))] == [], change


REJECTED = Path(__file__).parents[2] / "rejected"
UNSEEN = {"E102", "E103", "E321", "W305", "W320"}
"""Sizes and characters that no job has by accident, and references that a job asks to keep."""


@pytest.mark.parametrize("file", sorted(REJECTED.glob("[EW][23]*.yaml")), ids=lambda file: file.stem)
def test_rejected_files_that_openpai_accepts_have_a_row(file: Path) -> None:
    """Keys below extras.slurm are none of OpenPAI's."""
    job = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not refusal(job):
        found = {kind(each) for each in reported(job) if each.code == file.name[:4] and each.code not in UNSEEN}
        assert [each for each in found if not each[1].startswith("extras.slurm") and not is_listed(*each)] == []


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: f"{row.code} {row.example}"[:60])
def test_a_file_that_openpai_could_parse_is_refused(row: Row) -> None:
    meant = read("{" + row.instead + "}", file="page").root
    assert isinstance(meant, dict)
    assert row.keys
    for protocol in row.keys:
        file = TEXT_FILES[protocol]
        assert refusal(yaml.safe_load(file % "") | meant) == ""
        text = file % (row.example if protocol == "v2" else f", {row.example}")
        with pytest.raises(PaislurmError) as caught:
            compile_job(text.encode("utf-8", "surrogatepass"))
        assert {each.code for each in caught.value.diagnostics} == {row.code}
        assert all(each.location and each.hint for each in caught.value.diagnostics)

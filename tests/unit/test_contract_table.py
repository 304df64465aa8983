"""The tables at the end of the contract suite."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from tests.contract.backends import WAYS
from tests.contract.table import lines_of_backends, lines_of_table
from tests.contract.tried import LINE, README, line

SLURMS = ["own", "newest"]


def report(name: str, outcome: str = "passed", when: str = "call", reason: str = "") -> Any:
    return SimpleNamespace(
        nodeid=f"tests/contract/{name}", when=when, skipped=outcome == "skipped", failed=outcome == "failed",
        longrepr=("file", 1, reason) if reason else None,
    )  # fmt: skip


REPORTS = [
    report("test_ends.py::test_cancel[own-het]"),
    report("test_ends.py::test_cancel[newest-het]", "failed"),
    report("test_backends.py::test_cancel[own-slurm]", when="setup"),
    report("test_backends.py::test_cancel[own-slurm]"),
    report("test_backends.py::test_cancel[newest-slurm]"),
    report("test_backends.py::test_cancel[own-other]", "skipped", "setup", "none is made for it"),
    report("test_backends.py::test_cancel[newest-other]"),
    report("test_backends.py::test_cancel[newest-other]", "failed", "teardown"),
    SimpleNamespace(nodeid="tests/unit/test_x.py::test_y[newest]"),
]


def test_the_table_of_versions_omits_backend_cases() -> None:
    assert lines_of_table(REPORTS, SLURMS) == [
        "case                own  newest",
        "ends: cancel [het]  ok   FAILED",
    ]


def test_a_backend_table_cell_lists_the_results_per_slurm_version() -> None:
    assert lines_of_backends(REPORTS, SLURMS, ["slurm", "other"]) == [
        "case    slurm  other",
        "cancel  ok     skipped (1) / FAILED",
        "(1) none is made for it",
    ]


def test_without_cases_there_is_no_table() -> None:
    assert lines_of_table([], SLURMS) == lines_of_backends([], SLURMS, ["slurm"]) == []


def test_backend_names_differ_from_versions() -> None:
    assert not [way.name for way in WAYS if "-" in way.name]


def test_the_readme_has_one_sentence_about_tested_versions() -> None:
    (said,) = LINE.findall(README.read_text(encoding="utf-8"))
    parts = re.search(r" on (\d{4}-\d\d-\d\d) with Slurm (.*)\.", said)
    assert parts
    versions = {suite: version for version, suite in re.findall(r"(\d\d\.\d\d\.\d+) \(Debian (\w+)\)", parts[2])}
    assert len(versions) == 3
    assert line(parts[1], versions) == said

"""The tables of the contract suite: case by version of Slurm, and case by backend and version."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.kinds import SLURMS as OURS
from tests.cluster.versions import versions
from tests.contract.backends import WAYS, WAYS_OF_SSH
from tests.contract.site import SLURMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pytest


OF_BACKENDS = ("tests/contract/test_backends.py::", "tests/contract/test_ssh.py::")


@dataclass
class Results:
    """What became of cases: by case and column, `ok`, `FAILED`, or `skipped (n)` with the number of its reason."""

    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def add(self, report: pytest.TestReport, case: str, column: str) -> None:
        row = self.cells.setdefault(case, {})
        if report.skipped:
            reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
            if reason not in self.reasons:
                self.reasons.append(reason)
            row[column] = f"skipped ({self.reasons.index(reason) + 1})"
        elif report.failed:
            row[column] = "FAILED"
        elif report.when == "call":
            row.setdefault(column, "ok")

    def lines(self, columns: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the lines of a table, none where no case has run. A column may have several results in a cell."""
        if not self.cells:
            return []
        rows = [("case", *columns)]
        for case, row in sorted(self.cells.items()):
            cells = [[row.get(name, "-") for name in names] for names in columns.values()]
            rows.append((case, *(" / ".join(dict.fromkeys(cell) if len(set(cell)) == 1 else cell) for cell in cells)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{word:{width}}" for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return lines + [f"({number}) {reason}" for number, reason in enumerate(self.reasons, 1)]


def lines_of_table(reports: Iterable[pytest.TestReport], slurms: Sequence[str]) -> list[str]:
    """Return the lines of the table of versions: all cases but those that go through the backends."""
    results = Results()
    for report in _of_suite(reports):
        if not report.nodeid.startswith(OF_BACKENDS):
            case, slurm, others = case_of(report.nodeid, slurms)
            results.add(report, case + (f" [{others}]" if others else ""), slurm)
    return results.lines({slurm: [slurm] for slurm in slurms})


def lines_of_backends(
    reports: Iterable[pytest.TestReport], slurms: Sequence[str], backends: Sequence[str]
) -> list[str]:
    """Return the lines of the table of backends; a cell says what became of a case with each Slurm, or with all."""
    results = Results()
    for report in _of_suite(reports):
        if report.nodeid.startswith(OF_BACKENDS):
            case, slurm, backend = case_of(report.nodeid, slurms)
            results.add(report, case.partition(": ")[2], f"{backend} {slurm}")
    return results.lines({backend: [f"{backend} {slurm}" for slurm in slurms] for backend in backends})


def _of_suite(reports: Iterable[pytest.TestReport]) -> Iterator[pytest.TestReport]:
    return (each for each in reports if each.nodeid.startswith("tests/contract/") and "[" in each.nodeid)


def case_of(nodeid: str, slurms: Sequence[str]) -> tuple[str, str, str]:
    """Split a test's id into the case's name, the Slurm that it ran on, and what else it was given."""
    path, _, name = nodeid.partition("::")
    function, _, inner = name.partition("[")
    words = inner.removesuffix("]").split("-")
    slurm = next(word for word in words if word in slurms)
    words.remove(slurm)
    case = f"{Path(path).stem.removeprefix('test_')}: {function.removeprefix('test_').replace('_', ' ')}"
    return case, slurm, "-".join(words)


def write_table(terminal: pytest.TerminalReporter) -> None:
    """Write the table and what each cluster is made of, if cases of the suite have run."""
    reports = [report for found in terminal.stats.values() for report in found if hasattr(report, "when")]
    if all(report.skipped or report.when != "call" for report in _of_suite(reports)):
        return
    tables = {
        "contract by Slurm": lines_of_table(reports, SLURMS),
        f"contract by backend, with Slurm {' / '.join(SLURMS)}": lines_of_backends(
            reports, SLURMS, [way.name for way in (*WAYS, *WAYS_OF_SSH)]
        ),
    }
    for title, lines in tables.items():
        if not lines:
            continue
        terminal.section(title)
        for line in lines:
            terminal.line(line)
    if any(tables.values()):
        ran = [slurm for slurm in OURS if any(f"[{slurm}" in report.nodeid for report in reports)]
        for line in map(versions, ran):
            terminal.line(line)

"""The table of the contract suite: case by version of Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import SUITES
from tests.contract.site import SLURMS
from tests.contract.versions import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest


def lines_of_table(reports: Sequence[pytest.TestReport], slurms: Sequence[str]) -> list[str]:
    """Return the table's lines: `ok`, `FAILED`, or a number that stands for the reason why a case was skipped."""
    cells: dict[str, dict[str, str]] = {}
    reasons: list[str] = []
    for report in reports:
        if not report.nodeid.startswith("tests/contract/") or "[" not in report.nodeid:
            continue
        case, slurm = case_of(report.nodeid, slurms)
        row = cells.setdefault(case, {})
        if report.skipped:
            reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
            if reason not in reasons:
                reasons.append(reason)
            row[slurm] = f"skipped ({reasons.index(reason) + 1})"
        elif report.failed:
            row[slurm] = "FAILED"
        elif report.when == "call":
            row.setdefault(slurm, "ok")
    if not cells:
        return []
    width = max(map(len, cells))
    lines = ["".join([f"{'case':{width}}", *(f"  {slurm:12}" for slurm in slurms)]).rstrip()]
    for case, row in sorted(cells.items()):
        lines.append("".join([f"{case:{width}}", *(f"  {row.get(slurm, '-'):12}" for slurm in slurms)]).rstrip())
    return lines + [f"({number}) {reason}" for number, reason in enumerate(reasons, 1)]


def case_of(nodeid: str, slurms: Sequence[str]) -> tuple[str, str]:
    """Split a test's id into the case's name and the Slurm that it ran on."""
    path, _, name = nodeid.partition("::")
    function, _, inner = name.partition("[")
    words = inner.removesuffix("]").split("-")
    slurm = next(word for word in words if word in slurms)
    words.remove(slurm)
    case = f"{Path(path).stem.removeprefix('test_')}: {function.removeprefix('test_').replace('_', ' ')}"
    return case + (f" [{'-'.join(words)}]" if words else ""), slurm


def write_table(terminal: pytest.TerminalReporter) -> None:
    """Write the table and what each cluster is made of, if cases of the suite have run."""
    reports = [report for found in terminal.stats.values() for report in found if hasattr(report, "when")]
    lines = lines_of_table(reports, SLURMS)
    if lines:
        terminal.section("contract by version of Slurm")
        ran = [slurm for slurm in SUITES if any(f"[{slurm}" in report.nodeid for report in reports)]
        for line in [*lines, *map(versions, ran)]:
            terminal.line(line)

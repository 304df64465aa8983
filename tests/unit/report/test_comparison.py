"""Tests of pages that compare jobs: order, labels, and reasons of jobs that have not succeeded."""

from __future__ import annotations

import re
from pathlib import Path

from paislurm.translator.app.jobs.selecting import folders_of_group
from paislurm.translator.app.reports.gather import job_reports
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.report.chart_rows import runs_gantt
from paislurm.translator.report.page import NAMED, comparison_page, in_phase

from ..cli.running import Runner
from .made import Made, T, task
from .made_groups import LONG_REASON, LOST, compared, long_reason

ROWS = re.compile(r'<th scope="row">(.*?)</th>')


def section(page: str, name: str) -> str:
    return page.partition(f'<section id="{name}"')[2].partition("</section>")[0]


def test_jobs_of_a_group_are_sorted_by_parameters_and_reasons_grouped(jobs: Path, run: Runner) -> None:
    """Those of jobs that have not succeeded."""
    compared(jobs, user_name())
    assert run("report", "--group", "resnet").code == 0
    page = Path("resnet.report.html").read_text()
    table, reasons = (section(page, name) for name in ("jobs", "reasons"))
    assert ROWS.findall(table) == [f"resnet-{number}" for number in reversed(range(12))]
    assert "resnet-7, resnet-3" in ROWS.findall(reasons)
    assert (page.count('<div class="more">CUDA out of memory</div>'), page.count(LOST)) == (2, 1)
    assert [words for words in (f"{user_name()}~", "all tasks have ended") if words in page] == []


def test_a_reason_names_a_limited_number_of_jobs(jobs: Path) -> None:
    folders = []
    for number in range(NAMED + 3):
        made = Made(jobs, user_name(), f"bad-{number}", [("worker", 1)])
        made.submitted(0, T + 2, starts=T + 5)
        made.ended(0, "FAILED", 1, LOST, T + 5, T + 50, [task("worker", 0, "FAILED", 1, "n1", T + 6, T + 50)])
        folders.append(made.folder)
    page = comparison_page(job_reports(Session(), folders, details=False), "")
    assert (f"bad-{NAMED - 1} and 3 more</th>" in page, page.count(LOST)) == (True, 1)


def test_a_page_without_failures_has_no_section_of_reasons(jobs: Path) -> None:
    compared(jobs, user_name(), 3)
    reports = job_reports(Session(), folders_of_group(Session(), "resnet"), details=False)
    assert 'id="reasons"' not in comparison_page([report for report in reports if report.job.ended], "resnet")


def test_a_running_job_runs_from_the_start_of_its_tasks(jobs: Path) -> None:
    compared(jobs, user_name(), 2)
    done, runs = job_reports(Session(), folders_of_group(Session(), "resnet"), details=False)
    assert (done.job.ended, runs.job.ended) == (True, False)
    assert in_phase(runs.attempts[0], "staging") == 100
    assert in_phase(runs.attempts[0], "running") >= 600
    (mark,) = runs_gantt([done, runs]).marks
    assert (mark.row, mark.text, mark.failed) == ("resnet-1", runs.job.state.lower(), False)


def test_a_retry_rule_is_shown_once(jobs: Path, run: Runner) -> None:
    long_reason(jobs, user_name())
    assert run("report", "long-reason").code == 0
    page = Path("long-reason.report.html").read_text()
    words = ('<div class="more">Transient: retried without using the budget</div>', LONG_REASON)
    assert [each for each in words if each not in page] == []


def test_a_comparison_shows_parameters_that_differ(jobs: Path) -> None:
    """Jobs of different sweeps, and a job outside a sweep, have a value for each parameter."""
    made = []
    for name, parameters, sweep in (
        ("plain", {"lr": "1", "seed": "1", "epochs": "9"}, {}),
        ("by-lr", {"lr": "2", "seed": "1", "epochs": "9"}, {"lr": "2"}),
        ("by-seed", {"lr": "1", "seed": "2", "epochs": "9"}, {"seed": "2"}),
    ):
        job = Made(jobs, user_name(), name, [("worker", 1)], parameters=parameters, sweep=sweep)
        job.submitted(0, T + 2, starts=T + 5)
        made.append(job.folder)
    page = comparison_page(job_reports(Session(), made, details=False), "")
    assert re.findall(r'<th scope="col" class="parameter">(.*?)</th>', page) == ["lr", "seed"]
    assert re.findall(r'<td class="parameter">(.*?)</td>', page) == ["1", "1", "2", "1", "1", "2"]
    assert "Result" not in page

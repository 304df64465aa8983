"""Tests that the page of a job reads the view: what `status` shows of it is on the page."""

from __future__ import annotations

import html
from pathlib import Path

from paislurm.translator.app.reports.gather import job_reports
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.report.page import job_page

from .made import failed, retried

IN_ANOTHER_FORM = ("job", "state", "parameters")


def test_a_page_shows_every_fact_of_the_view(jobs: Path) -> None:
    for folder in (retried(jobs, user_name()), failed(jobs, user_name())):
        (report,) = job_reports(Session(), [folder], details=True)
        page = html.unescape(job_page(report))
        facts = [fact for fact in report.job.facts(report.now) if fact[1] not in ("", "-")]
        assert len(facts) > len(IN_ANOTHER_FORM)
        assert [name for name, text in facts if name not in IN_ANOTHER_FORM and text not in page] == []

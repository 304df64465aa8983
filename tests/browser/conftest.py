"""Chromium as Debian has it, and pages that are watched: what they say, and what they ask of a network."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.cli.main import main
from tests.unit.report import made, made_groups

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHROMIUM = "chromium"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; without it tests are skipped."""
    program = shutil.which(CHROMIUM)
    if program is None:
        pytest.skip("no Chromium: tests/cluster/cluster.py install has it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its sandbox is not for root.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages of five jobs, and of two groups."""
    folder = tmp_path_factory.mktemp("reports")
    jobs = folder / "home" / "jobs"
    jobs.mkdir(parents=True, mode=0o700)
    jobs.parent.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAISLURM_HOME", str(jobs.parent))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.delenv("PAISLURM_SITE", raising=False)
        for make in (
            made.retried,
            made.large,
            made.hostile,
            made.sweep,
            made_groups.long_reason,
            made_groups.compared,
        ):
            make(jobs, user_name())
        for job in ("resnet-a100", "large", "hostile", "long-reason"):
            assert main(["report", job, "-o", str(folder / f"{job}.html")]) == 0
        assert main(["report", "--group", "lr-sweep", "-o", str(folder / "sweep.html")]) == 0
        assert main(["report", "--group", "resnet", "-o", str(folder / "compared.html")]) == 0
    return folder


class Watched:
    """A page in a browser; `complaints` are what its console says and what it asks of anybody but its own file."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self._asked(request.url, file.as_uri()))
        page.goto(file.as_uri())

    def _asked(self, url: str, own: str) -> None:
        if url.partition("#")[0] != own:
            self.complaints.append(f"request: {url}")

    def focused(self) -> str:
        """Return the id or the text of what has the focus."""
        found = self.page.evaluate(
            "document.activeElement.id || document.activeElement.textContent.trim().slice(0, 40)"
        )
        assert isinstance(found, str)
        return found

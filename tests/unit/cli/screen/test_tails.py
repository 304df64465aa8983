"""The last lines of a task at a login node: brought at once, and then not too often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.translator.app.session import Session
from paislurm.translator.cli.screen import tails as module
from paislurm.translator.cli.screen.state import State
from paislurm.translator.cli.screen.tails import Tails
from paislurm.translator.state.job_folder import JobFolder

from .sights import task, view

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from paislurm.backends.base import RunFolder
    from paislurm.translator.state.history import History


def test_a_log_is_fetched_when_its_task_is_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is on the way, nobody says that nothing is printed."""
    folder = JobFolder(path=tmp_path / "train")
    shown = view([task(0, "RUNNING"), task(1, "RUNNING")], folder=folder)
    brought: list[tuple[tuple[str, int], ...]] = []

    def fetch(_: Session, __: History, wanted: RunFolder) -> None:
        brought.append(wanted.tasks)
        (_, index) = wanted.tasks[0]
        log = folder.log(0, shown.history.roles[0], index, 0, "stdout")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"epoch of {index}\n", encoding="utf-8")

    monkeypatch.setattr(module, "fetch", fetch)
    tails, first, second = Tails(Session()), State(page="job"), State(page="job", task="worker-1")
    assert tails.read(shown, first).lines == ("epoch of 0",)
    assert tails.read(shown, first).lines == ("epoch of 0",)
    assert tails.read(shown, second).lines == ("epoch of 1",)
    assert brought == [(("logs/0-worker", 0),), (("logs/0-worker", 1),)]

"""The examples of the public calls run, in one process: `local` is this machine, and Slurm answers from memory."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import paislurm
from paislurm.backends.base import Backend
from paislurm.translator.app.session import Session
from paislurm.translator.app.sites import ask as ask_module
from tests.cluster.processes import wait_until

from ..cli.test_estimate import Slurm
from ..monitor.jobs import FakeBackend
from ..site.detection.answered import recorded
from .page import THINGS

EXAMPLES = Path(__file__).parents[3] / "examples"
WITHOUT = {
    "jobs.continue_monitor": "starts another process, whose Slurm would be a real one",
    "tasks.attach": "another program replaces this process",
    "tasks.run_forward": "runs until Ctrl-C",
}
"""The calls without an example, each with its reason."""


def calls() -> Iterator[tuple[str, str]]:
    """Yield the public calls, each with its docstring."""
    session = Session()
    for thing, owner in [("JobRun", paislurm.JobRun), *((name, type(getattr(session, name))) for name in THINGS)]:
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if name[0] != "_":
                yield f"{thing}.{name}", inspect.getdoc(method) or ""


def test_every_call_has_an_example() -> None:
    assert {name for name, text in calls() if ">>> " not in text} == set(WITHOUT)


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a Slurm that answers from memory, beside the local backend, in a folder of the job files."""
    monkeypatch.chdir(copytree(EXAMPLES, tmp_path / "examples"))
    new, slurm = Session._new_backend, FakeBackend()

    def backend(session: Session, name: str) -> Backend:
        return slurm if name == "slurm" else new(session, name)

    monkeypatch.setattr(Session, "_new_backend", backend)
    monkeypatch.setattr(Session, "slurm_runner", lambda *_: Slurm("busy"))
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))


@pytest.mark.usefixtures("answers")
def test_the_examples_run() -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)

    def run(name: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
        example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
        runner.run(example, out=said.append, clear_globs=False)
        return example.globs

    names = run("Session", inspect.getdoc(Session) or "", {})
    running = names["running"]
    wait_until(lambda: {task.state for task in running.status().tasks} == {"RUNNING"}, "the task to run")
    for name, text in calls():
        run(name, text, names)
    running.cancel()
    assert running.wait(timeout=60).ended
    assert not said, "".join(said)

"""Jobs that were run on this machine: how to describe them, and what they left behind."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from paislurm.translator.app.session import Event, Session
from paislurm.translator.errors import diagnostic_text
from paislurm.translator.view.jobs import JobView

PREFIX = "com.microsoft.pai.runtimeplugin"


class Ran:
    """What a job left behind: its end, the events until then as text, and the files of its first attempt."""

    def __init__(self, view: JobView, folder: Path, events: str = "") -> None:
        self.view = view
        self.events = events
        self.code = int(not view.succeeded)
        self.folder = folder
        self.attempt = folder / "attempts" / "0"
        self.result: dict[str, Any] = json.loads((self.attempt / "result.json").read_text())

    def work(self, role: str = "0-worker", index: int = 0) -> Path:
        """Return the folder that a task ran in."""
        return self.attempt / "work" / role / str(index)

    def log(self, stream: str, role: str = "0-worker", index: int = 0) -> str:
        path = self.attempt / "logs" / role / f"{index}.{stream}.log"
        return path.read_text() if path.exists() else ""

    def environment(self, role: str, index: int = 0) -> dict[str, str]:
        """Return the variables of a task that left them in its file `env`."""
        text = (self.work(role, index) / "env").read_bytes().decode()
        return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)

    @property
    def states(self) -> dict[str, str]:
        return {f"{task['role']}-{task['index']}": task["state"] for task in self.result["tasks"]}

    @property
    def order(self) -> list[str]:
        """The record of task 0: `start base 0`, in order."""
        lines = (self.attempt / "tasks" / "0-worker" / "0.scripts").read_text().splitlines()
        words = [line.split(" ") for line in lines]
        assert all(int(began) <= int(ended) for _, _, _, began, ended, _ in words)
        return [f"{moment} {name} {status}" for _, moment, status, _, _, name in words]


def run_here(file: str, **options: Any) -> Ran:
    """Run a job file on this machine until its end."""
    events: list[Event] = []
    session = Session(say=events.append)
    run = session.jobs.submit(file, backend="local", **options)
    [view] = session.jobs.show_ends(run, timeout=120)
    session.jobs.tidy(run)
    text = "\n".join(each if isinstance(each, str) else diagnostic_text(each) for each in events)
    return Ran(view, run.folder, text)


def script(name: str, *callbacks: tuple[str, str], **more: object) -> dict[str, Any]:
    events = [{"event": event, "commands": [command]} for event, command in callbacks]
    return {"name": name, "type": "script", **({"callbacks": events} if events else {}), **more}


def plugins(*entries: dict[str, Any]) -> dict[str, Any]:
    return {PREFIX: list(entries)}


def git_repository(folder: Path, file: str) -> Path:
    """Make a repository whose branch `main` has one file, for clients of any kind."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / file).write_text("1")
    for words in (["add", "-A"], ["commit", "-qm", "1"], ["update-server-info"]):
        subprocess.run(["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@y", *words], check=True)
    return folder

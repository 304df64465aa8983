"""Everything that programs read keeps to the records of which the docs page is made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.document import definitions
from paislurm.translator.app.site import ask as ask_module
from paislurm.translator.monitor.job_site import due_notifications
from paislurm.translator.monitor.notify import message
from paislurm.translator.state.history import history
from tests.documents import DATA

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, observed
from ..protocol.jobs_v1 import job as job_v1
from ..site.detection.answered import recorded
from .json_page import FILES
from .ran import script
from .running import job_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from paislurm.translator.state.job_folder import JobFolder

    from ..monitor.jobs import FakeBackend
    from .ran import Ran
    from .running import Runner


def keys(value: Any, key: str = "") -> Iterator[str]:
    """Yield each key of a document, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from keys(each, key)
    elif isinstance(value, dict) and key not in DATA:
        for name, each in value.items():
            yield name
            yield from keys(each, name)


def test_files_keep_to_their_records(ran: Callable[..., Ran]) -> None:
    left = ran(["exit 3"], [script("tools", ("taskStarts", "true"))], taskRoles__worker__prerequisites=["tools"])
    journal = (left.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    due = due_notifications(history([replace(CREATED, notify=("failed",)), INTENT, SUBMITTED, ENDED]))
    notifications = [message(each, mail=False) for each in due]
    known = {key for record in definitions(FILES).values() for key in record.get("properties", ())}
    found = [left.result, *map(json.loads, [*journal, *notifications])]
    assert (len(notifications), set(keys(found)) - known) == (1, {"version"})


def test_commands_that_no_other_test_calls_with_json_print_their_documents(
    run: Runner, job: str, tmp_path: Path, folder: JobFolder, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a document must be is held wherever a test prints one."""
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))
    slurm.observations[JobId("7")] = observed("RUNNING")
    folder.reports(0).mkdir(parents=True)
    lines = f"peer 0 0 0 10.0.0.1 0 jupyter:5000 http:5001\nstart 0 0 0 0 n1 4 {NOW}\n"
    (folder.reports(0) / "n1.log").write_text(lines, encoding="utf-8")
    old = job_file(tmp_path, job_v1(), "old.json")
    odd = job_file(tmp_path, "partitions: {gone: {}}\n", "odd.yaml")
    for words in (
        ("convert", old), ("port-forward", "demo", "worker-0", "http"), ("report", "demo", "-o", f"{old}.html"),
        ("site", "check"), ("site", "check", job), ("site", "check", old, odd), ("site", "check", "--site", odd),
    ):  # fmt: skip
        assert "error" not in json.loads(run(*words, "--json").out), words

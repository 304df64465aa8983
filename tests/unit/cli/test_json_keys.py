"""Everything that programs read keeps to the records of which the docs page is made."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.document import definitions, document_text
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.app.site import ask as ask_module
from paislurm.translator.exit_codes.table import SiteRow
from paislurm.translator.monitor.job_site import due_notifications
from paislurm.translator.monitor.notify import message
from paislurm.translator.monitor.polling.call_log import Call
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Site
from paislurm.translator.state.history import history
from paislurm.translator.state.records import Cancelled, Changed, Dependency, Notified, Observed, Retry, dump
from tests.clock import clock
from tests.documents import faults
from tests.golden.remake import CASES, compiled

from ..monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, FakeBackend, job_folder, observed
from ..protocol.jobs_v1 import job as job_v1
from ..site.detection.answered import recorded
from .json_page import FILES
from .ran import script
from .running import JOB, job_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .ran import Ran
    from .running import Runner

WORDS = (
    "states",
    "backend_states",
    "parameters",
    "overrides",
    "slurm_options",
    "sweep",
    "ports_by_label",
    "values",
    "old_values",
)
"""Objects whose keys are data: states, parameters."""
FILE_NAMES = ("journal", "notification", "result.json")
ZONED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d")
RETRY = Retry(
    happened_at=NOW, attempt=0, exit_code=1, behaviour="unknown", reason="a", retry_rule="b", retry_at=NOW, retries=1,
    used_retries=1, transient_retries=0, blamed_nodes=("n1",), backend_state="", started_at=NOW, ended_at=NOW,
)  # fmt: skip
RECORDS = (
    replace(
        CREATED,
        exit_rows=(SiteRow(exit_code=1, backend_states={"PREEMPTED": "taken"}),),
        notify=("failed",),
        dependencies=(Dependency(name="alice~first", created_at=NOW),),
    ),
    INTENT,
    SUBMITTED,
    Observed(happened_at=NOW, attempt=0, backend_state="PENDING", backend_reason="a", backend_reasons=("a", "b")),
    Cancelled(happened_at=NOW, attempt=0, user="alice"),
    Changed(happened_at=NOW, attempt=0, user="alice", values={"time": "02:00:00"}, old_values={"time": ""}),
    RETRY,
    ENDED,
    Notified(happened_at=NOW, attempt=0, key="k", delivered=True),
)


def found(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield each key of a document, at any depth, with what it stands for."""
    if isinstance(value, list):
        for each in value:
            yield from found(each, key)
    elif isinstance(value, dict) and key not in WORDS:
        for name, each in value.items():
            yield name, each
            yield from found(each, name)


def odd_profile(folder: Path) -> Path:
    """Write a profile that names what the recorded cluster does not have."""
    path = folder / "odd.yaml"
    path.write_text("partitions: {gone: {}}\nslurmVersion: 20.11.1\n", encoding="utf-8")
    return path


@pytest.fixture
def documents(
    run: Runner, ran: Callable[..., Ran], tmp_path: Path, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, Any]]:
    """Return what every command prints with `--json`, and what the files of jobs hold, each with where it is from."""
    left = ran(["exit 3"], [script("tools", ("taskStarts", "true"))], taskRoles__worker__prerequisites=["tools"])
    journal = (left.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    made: list[tuple[str, Any]] = [
        ("result.json", left.result),
        *(("journal", json.loads(line)) for line in (*journal, *map(dump, RECORDS))),
        *(("plan", json.loads(document_text(compiled(case).plan))) for case in CASES),
        ("plan", json.loads(document_text(compile_job(JOB.encode(), site=Site.of(slurm_version="24.11.0")).plan))),
        *(
            ("notification", json.loads(message(reported, mail=False)))
            for reported in due_notifications(history(RECORDS))
        ),
    ]
    ours, ended = f"{user_name()}~ours", f"{user_name()}~demo"
    records = [replace(record, user=user_name(), happened_at=clock()) for record in (CREATED, SUBMITTED)]
    folder = job_folder(surroundings, *records, name=ours)
    folder.script(0).touch()
    retried = f"{user_name()}~retried"
    job_folder(surroundings, *records, replace(RETRY, retry_at=clock() + 500), name=retried)
    slurm = FakeBackend(observed("PENDING", reason="Resources"))
    monkeypatch.setattr(Session, "_new_backend", lambda *_: slurm)
    job = job_file(tmp_path, JOB.replace("name: demo", "name: other"))
    old = job_file(tmp_path, job_v1(), name="old.json")
    run("script", job, "-o", str(tmp_path / "job.sbatch"))

    def read(*words: str) -> None:
        made.append((words[0], json.loads(run(words[0], "--json", *words[1:]).out)))

    for line in (
        ("check", job), ("plan", job), ("script", job), ("explain", job), ("convert", old), ("verify", "--runtime"),
        ("explain", job, "--when", "worker-0 exits 1"),
        ("verify", str(tmp_path / "job.sbatch")), ("submit", job, "--dry-run"), ("submit", job), ("list",),
        ("status", "other"), ("diff", "other", job),
        ("status", ours), ("status", ended), ("status", retried), ("wait", ended), ("logs", ended), ("watch", ended),
        ("explain", "PREEMPTED"), ("explain", "137"),
        ("report", ended, "--output", str(tmp_path / "page.html")),
        ("completion", "bash"),
    ):  # fmt: skip
        read(*line)
    swept = job_file(tmp_path, JOB.replace("name: demo", "name: swept\nparameters: {lr: 1}"), name="swept.yaml")
    for line in (
        ("submit", swept, "--sweep", "lr=1,2"), ("submit", swept, "--sweep", "lr=1,2,3"),
        ("list", "--group", "swept"), ("status", "swept-lr1"),
        ("submit", job, "--suffix", "-next", "--after", "swept-lr1"), ("status", "other-next"),
    ):  # fmt: skip
        read(*line)
    slurm.observations[JobId("7")] = observed("RUNNING")
    reports = folder.reports(0)
    reports.mkdir(parents=True)
    lines = f"peer 0 0 0 10.0.0.1 0 jupyter:5000 http:5001\nstart 0 0 0 0 n1 4 {NOW}\n"
    (reports / "n1.log").write_text(lines, encoding="utf-8")
    sstat = tmp_path / "programs" / "sstat"
    sstat.parent.mkdir()
    sstat.write_text("#!/bin/sh\necho '7.4|1|00:00:03|51019776|51314688|gres/gpumem=1073741824,gres/gpuutil=87'\n")
    sstat.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sstat.parent}:{os.environ['PATH']}")
    Session().call_log.add(Call(time=time.time(), program="squeue", cpu=0.25))
    for line in (
        ("update", ours, "--retries", "2"),
        ("status", ours),
        ("port-forward", ours, "worker-0", "http"),
        ("status", ours, "--usage"),
    ):
        read(*line)
    for line in (("exec", ours, "worker-0"), ("cancel", ours), ("monitor", "--once"), ("monitor", "--calls")):
        read(*line)
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))
    made += [("site", json.loads(run("site", name, "--json").out)) for name in ("show", "detect", "check")]
    made += [
        ("site", json.loads(run("site", "check", "--json", *rest).out))
        for rest in ((job,), (old, str(tmp_path / "job.sbatch")))
    ]
    read("remove", ended)
    made.append(("site", json.loads(run("site", "check", "--json", "--site", str(odd_profile(tmp_path))).out)))
    return [*made, ("an error", json.loads(run("status", "--json", "nothing").out))]


def test_documents_match_their_schemas_and_files_their_records(documents: list[tuple[str, Any]]) -> None:
    """Documents have times with a zone; no number is one since 1970."""
    keys = {key for record in definitions(FILES).values() for key in record.get("properties", ())} | {"version", "kind"}
    for place, document in documents:
        if place in FILE_NAMES:
            assert {key for key, _ in found(document)} <= keys, place
            continue
        assert not faults(place.removeprefix("an "), document), place
        for key, value in found(document):
            assert value is None or not key.endswith("_at") or ZONED.fullmatch(str(value)), (place, key, value)
            assert not isinstance(value, int) or value < 1_000_000_000, (place, key, value)

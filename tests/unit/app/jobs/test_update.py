"""`paislurm update`: what it asks of Slurm, what it writes down, what it refuses, and hints at what was typed."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling as asking
from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Cancelled, Changed, Dependency, Record, Refused, Retry
from tests.clock import clock

from ...cli.running import JOB, ME, SITE, job_file, own_job
from ...monitor.jobs import (
    CREATED,
    ENDED,
    INTENT,
    SUBMITTED,
    FakeBackend,
    job_folder,
    observed,
)
from ..asked import Asked

RETRY = Retry(
    happened_at=0, attempt=0, exit_code=1, behaviour="unknown", reason="a", retry_rule="b", retry_at=1 << 40, retries=1,
    used_retries=1, transient_retries=0, blamed_nodes=(), backend_state="", started_at=1, ended_at=2,
)  # fmt: skip


def changes(folder: JobFolder) -> list[tuple[dict[str, str], str]]:
    """Return what the journal says of changes: values, and the job of Slurm."""
    records = read(folder.journal).records
    return [(dict(record.values), record.job_id) for record in records if isinstance(record, Changed)]


def test_a_change_is_sent_to_slurm_and_recorded_in_the_journal(
    asked: Asked, slurm: FakeBackend, waiting: JobFolder
) -> None:
    said = asked.jobs.update("demo", nice=5, slurm={"time": "2:00:00", "account": "lab"})
    assert said.out == f"{ME}: time 02:00:00, account lab, nice 5 (job 101)\n"
    values = {"time": "02:00:00", "account": "lab", "nice": "5"}
    assert (slurm.changed, changes(waiting)) == ([(JobId("101"), values)], [(values, "101")])
    assert re.search(
        "^changed          .*: time 02:00:00, account lab, nice 5$", asked.jobs.status("demo").out, re.MULTILINE
    )
    (change,) = asked.jobs.status("demo").document[0]["changes"]
    assert (change["values"], change["job_id"], change["attempt"], change["user"]) == (values, "101", 0, user_name())


@pytest.mark.usefixtures("waiting")
def test_the_last_job_and_those_of_a_pattern_are_changed(asked: Asked, slurm: FakeBackend) -> None:
    document = asked.jobs.update(last=True, slurm={"partition": "batch"}).document[0]
    assert (document["job_id"], document["message"]) == ("101", f"{ME}: partition batch (job 101)")
    assert (document["partition"], document["changes"][0]["values"]) == ("batch", {"partition": "batch"})
    several = asked.jobs.update("de*", retries=4).document
    assert [each["changes"][0]["values"] for each in several] == [{"retries": "4"}]
    assert len(slurm.changed) == 1


def test_no_answer_changes_nothing(asked: Asked, slurm: FakeBackend, waiting: JobFolder) -> None:
    slurm.fails = "away"
    assert (asked.jobs.update("demo", slurm={"time": "2:00:00"}).code, changes(waiting)) == (6, [])
    # How often it is retried is no question to Slurm.
    assert (asked.jobs.update("demo", retries=2).code, changes(waiting)) == (0, [({"retries": "2"}, "")])


def test_a_journal_write_error_is_reported(
    asked: Asked, slurm: FakeBackend, waiting: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("paislurm.translator.state.job_folder.append", full)
    said = asked.jobs.update("demo", slurm={"time": "30"})
    assert (said.code, len(slurm.changed)) == (4, 1)
    assert f"error E510: cannot write {waiting.journal} (No space left on device); job 101 was changed" in said.err


@pytest.mark.usefixtures("waiting")
def test_a_running_job_cannot_be_held(asked: Asked, slurm: FakeBackend) -> None:
    slurm.observations[JobId("101")] = observed("RUNNING", job_id="101")
    said = asked.jobs.update("demo", held=True)
    assert (said.code, "error E622: " in said.err, "only a waiting job can be held" in said.err) == (4, True, True)
    assert slurm.changed == []
    assert asked.jobs.update("demo", slurm={"time": "30"}).code == 0


@pytest.mark.parametrize("changes_wanted", [{"slurm": {"time": "30"}, "retries": 2}, {"held": True}])
def test_between_attempts_only_the_journal_is_written(
    asked: Asked, slurm: FakeBackend, surroundings: Path, changes_wanted: dict[str, Any]
) -> None:
    folder = own_job(surroundings, "retried", "11", replace(RETRY, happened_at=clock()))
    folder.script(0).write_text("#!/bin/bash -p\n#SBATCH --time=01:00:00\n", encoding="utf-8")
    assert asked.jobs.update("retried", **changes_wanted).out.endswith(" (from the next attempt on)\n")
    assert (slurm.changed, [job_id for _, job_id in changes(folder)]) == ([], [""])


def test_a_refused_attempt_is_shown_and_can_be_changed(asked: Asked, slurm: FakeBackend, surroundings: Path) -> None:
    """The first attempt of a job that waits for another one, which runs."""
    other, me, now = own_job(surroundings, "first", "11"), user_name(), clock()
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    first = Dependency(name=f"{me}~first", created_at=other.history().created)
    created = replace(CREATED, user=me, job="next", happened_at=now, dependencies=(first,), first_tag="paislurm-9")
    intent = replace(INTENT, happened_at=now, tag="paislurm-9")
    refused = Refused(happened_at=now, attempt=0, reason="sbatch refuses --account: \x1b[1mno more jobs")
    folder = job_folder(surroundings, created, intent, refused, name=f"{me}~next")
    folder.script(0).write_text("#!/bin/bash -p\n", encoding="utf-8")
    shown = asked.jobs.status("next").out
    for words in ("attempt 1 is not submitted yet: sbatch refuses --account: ", "not submitted\n"):
        assert words in shown
    assert "did not report whether" not in shown
    assert "is not submitted yet: sbatch refuses" in asked.jobs.list().value[0].reason
    assert asked.jobs.update("next", slurm={"account": "lab"}).out.endswith(" (when it is submitted)\n")
    assert [values for values, _ in changes(folder)] == [{"account": "lab"}]
    # It is tried at once.
    assert (slurm.changed, slurm.submissions[0].tag) == ([], "paislurm-9")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (ENDED, "`paislurm submit --again old`, with"),
        (Cancelled(happened_at=0, attempt=0, user="alice", job_id="11"), "is being cancelled"),
    ],
    ids=["ended", "cancelled"],
)
def test_a_job_that_ends_cannot_be_changed(
    asked: Asked, slurm: FakeBackend, surroundings: Path, record: Record, says: str
) -> None:
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    own_job(surroundings, "old", "11", replace(record, happened_at=clock()))
    for wanted in ({"slurm": {"time": "30"}}, {"retries": 3}):
        said = asked.jobs.update("old", **wanted)
        assert (said.code, "error E620: " in said.err, says in said.err) == (4, True, True)


def test_a_finished_job_does_not_stop_the_others(asked: Asked, slurm: FakeBackend, surroundings: Path) -> None:
    own_job(surroundings, "old", "11", ENDED)
    own_job(surroundings, "new", "12").script(0).touch()
    slurm.observations[JobId("12")] = observed("PENDING", job_id="12", reason="Priority")
    said = asked.jobs.update("*", slurm={"time": "30"})
    assert (said.code, len(said.out.splitlines()), slurm.changed) == (0, 2, [(JobId("12"), {"time": "00:30:00"})])
    assert "old has already ended: FAILED" in said.out


def test_a_job_with_unknown_submission_cannot_be_changed(asked: Asked, slurm: FakeBackend, surroundings: Path) -> None:
    me, at = user_name(), clock()
    sent = replace(INTENT, happened_at=at)
    folder = job_folder(surroundings, replace(CREATED, user=me, happened_at=at), sent, name=f"{me}~unsure")
    said = asked.jobs.update("unsure", slurm={"time": "30"})
    assert (said.code, "error E623: " in said.err, slurm.changed) == (4, True, [])
    assert (asked.jobs.update("unsure", retries=3).code, changes(folder)) == (0, [({"retries": "3"}, "")])


def test_a_refused_change_does_not_stop_the_others(asked: Asked, slurm: FakeBackend, surroundings: Path) -> None:
    for name, number in (("a", "11"), ("b", "12")):
        own_job(surroundings, name, number).script(0).touch()
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    slurm.observations[JobId("12")] = observed("PENDING", job_id="12", reason="Priority")
    said = asked.jobs.update("a", "b", held=True)
    assert (said.code, slurm.changed) == (4, [(JobId("12"), {"held": "yes"})])
    assert "~b: held (job 12)" in said.err


def test_the_local_backend_changes_only_retries(asked: Asked, tmp_path: Path, demo: JobFolder) -> None:
    file = job_file(tmp_path, JOB.replace("echo and bye", "sleep 60"))
    assert asked.jobs.submit(file, backend="local").code == 0
    try:
        said = asked.jobs.update("demo", slurm={"time": "30"})
        assert (said.code, "error E622: " in said.err) == (4, True)
        assert asked.jobs.update("demo", retries=2).out == f"{ME}: retries 2\n"
    finally:
        asked.jobs.cancel("demo")
    assert [values for values, _ in changes(demo)] == [{"retries": "2"}]


def test_a_job_of_another_user_is_not_changed(
    asked: Asked, waiting: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = os.geteuid()
    monkeypatch.setattr("paislurm.translator.app.paths.os.geteuid", lambda: uid + 1)
    monkeypatch.setattr("paislurm.translator.app.paths.check_home", lambda _: None)
    assert asked.jobs.update("demo", slurm={"time": "30"}).code != 0
    assert changes(waiting) == []


@pytest.mark.parametrize(("wanted", "code"), [({"account": "mine"}, 4), ({"account": "lab", "qos": "high"}, 0)])
def test_a_locked_value_is_refused(
    asked: Asked, slurm: FakeBackend, waiting: JobFolder, profile: Path, wanted: dict[str, str], code: int
) -> None:
    """Slurm checks all other values."""
    locked = "virtualClusters: {default: {account: lab}}\nlocked: [virtualClusters.default]\n"
    profile.write_text(SITE + locked, encoding="utf-8")
    said = asked.jobs.update("demo", slurm=wanted)
    assert (said.code, "error E467: --account mine: the site locks `account`" in said.err) == (code, bool(code))
    assert (bool(slurm.changed), bool(changes(waiting))) == (not code, not code)


def test_an_attempt_that_is_submitted_meanwhile_is_changed_too(
    asked: Asked, slurm: FakeBackend, surroundings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = own_job(surroundings, "retried", "11", replace(RETRY, happened_at=clock()))
    append = type(folder).append

    def late(self: JobFolder, record: Record) -> None:
        append(self, record)
        if isinstance(record, Changed) and not record.job_id:
            append(self, replace(INTENT, attempt=1, happened_at=clock()))
            append(self, replace(SUBMITTED, attempt=1, user=user_name(), job_id="12", happened_at=clock()))

    monkeypatch.setattr(type(folder), "append", late)
    assert asked.jobs.update("retried", slurm={"time": "30"}).out.endswith("time 00:30:00 (job 12)\n")
    assert slurm.changed == [(JobId("12"), {"time": "00:30:00"})]
    assert [job_id for _, job_id in changes(folder)] == ["", "12"]


def test_accepted_options_are_recorded_if_others_are_refused(
    asked: Asked, slurm: FakeBackend, waiting: JobFolder
) -> None:
    slurm.refused_options = ("nice",)
    said = asked.jobs.update("demo", nice=3, retries=2, held=True, slurm={"time": "9:00"})
    assert (said.code, said.out, "error E621: no nice\n" in f"{said.err}\n") == (4, "", True)
    assert f"{ME}: time 00:09:00, retries 2, held (job 101)" in said.err
    assert [values for values, _ in changes(waiting)] == [{"time": "00:09:00", "retries": "2", "held": "yes"}]
    asked.jobs.update("demo", nice=3, slurm={"time": "10:00"}).ends(4, "error E621")
    assert changes(waiting)[-1] == ({"time": "00:10:00"}, "101")


def test_status_after_a_change_polls_again(
    asked: Asked, slurm: FakeBackend, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands share one answer of Slurm, but none from before the change."""
    monkeypatch.setattr(asking, "SHARED", ("slurm",))

    def change(job_id: JobId, values: Mapping[str, str]) -> None:
        reason = "JobHeldUser" if values.get("held") == "yes" else "Priority"
        slurm.observations[job_id] = observed("PENDING", job_id=job_id, reason=reason, reasons=(reason,))

    monkeypatch.setattr(slurm, "change", change)
    assert asked.jobs.submit(job).code == 0
    assert "Priority" in asked.jobs.status("demo").out
    assert "its user holds it" in asked.jobs.update("demo", held=True).document[0]["reason"]
    queries = slurm.queries
    shown = asked.jobs.status("demo").out
    assert "its user holds it" in shown
    assert "release it with `paislurm update demo --release`" in shown
    assert slurm.queries == queries
    released = asked.jobs.update("demo", held=False).document[0]
    assert (released["message"], "holds" in released["reason"]) == (f"{ME}: released (job 101)", False)
    assert "its user holds it" not in asked.jobs.status("demo").out


def test_changes_not_shown_are_counted(asked: Asked, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert slurm.submissions
    for number in range(7):
        assert asked.jobs.update("demo", nice=number).code == 0
        shown = asked.jobs.status("demo").out
        earlier = {5: "1 earlier change: ", 6: "2 earlier changes: "}.get(number)
        assert re.findall(r"\d+ earlier changes?: ", shown) == ([earlier] if earlier else [])
        assert len(re.findall(r"^changed  .*: nice \d", shown, re.MULTILINE)) == min(number + 1, 5)
    assert "`paislurm status --json` lists them all" in asked.jobs.status("demo").out
    assert len(asked.jobs.status("demo").document[0]["changes"]) == len(changes(waiting)) == 7

"""`paislurm update`: what it asks of Slurm, what it writes down, and what it refuses."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.errors import Diagnostic, RejectedError
from paislurm.translator.state.journal import read
from paislurm.translator.state.records import Cancelled, Changed, Dependency, Refused, Retry
from tests.clock import clock

from ...monitor.jobs import (
    CREATED,
    ENDED,
    FAILED,
    INTENT,
    FakeBackend,
    ended,
    job_folder,
    leave_result,
    observed,
)
from ..running import JOB, ME, SITE, job_file
from .test_many import make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from paislurm.translator.state.job_folder import JobFolder
    from paislurm.translator.state.records import Record

    from ..running import Runner

RETRY = Retry(
    happened_at=0, attempt=0, exit_code=1, behaviour="unknown", reason="a", retry_rule="b", retry_at=1 << 40, retries=1,
    used_retries=1, transient_retries=0, blamed_nodes=(), backend_state="", started_at=1, ended_at=2,
)  # fmt: skip


def changes(folder: JobFolder) -> list[tuple[dict[str, str], dict[str, str], str]]:
    """Return what the journal says of changes: values, those before, and the job of Slurm."""
    records = read(folder.journal).records
    return [(dict(r.values), dict(r.old_values), r.job_id) for r in records if isinstance(r, Changed)]


def test_a_change_is_sent_to_slurm_and_recorded_in_the_journal(
    run: Runner, slurm: FakeBackend, waiting: JobFolder
) -> None:
    said = run("update", "demo", "--time", "2:00:00", "--account", "lab", "--nice", "5")
    before = "(before: time 01:00:00, account as Slurm has it, nice as Slurm has it)"
    assert said.out == f"{ME}: time 02:00:00, account lab, nice 5 {before} (job 101)\n"
    values = {"time": "02:00:00", "account": "lab", "nice": "5"}
    assert slurm.changed == [(JobId("101"), values)]
    assert changes(waiting) == [(values, {"time": "01:00:00", "account": "", "nice": ""}, "101")]
    shown = run("status", "demo").out
    assert "changed          " in shown
    assert ": time 02:00:00, account lab, nice 5 (before: time 01:00:00, " in shown
    (change,) = json.loads(run("status", "--json", "demo").out)["changes"]
    assert (change["values"], change["job_id"], change["attempt"], change["user"]) == (values, "101", 0, user_name())
    assert run("update", "--time", "3:00:00").code == 0
    assert changes(waiting)[1][1] == {"time": "02:00:00"}


def test_json_prints_one_document(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert waiting
    document = json.loads(run("update", "--json", "--last", "--partition", "batch").out)
    assert (document["job_id"], document["partition"]) == ("101", "batch")
    assert [change["values"] for change in document["changes"]] == [{"partition": "batch"}]
    assert document["message"].startswith(f"{ME}: partition batch (before: as Slurm has it)")
    several = json.loads(run("update", "--json", "de*", "--retries", "4").out)["jobs"]
    assert [each["changes"][0]["old_values"] for each in several] == [{"retries": "0"}]
    assert len(slurm.changed) == 1


def test_hold_and_release_are_separate_calls(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert run("update", "--hold", "--time", "30").out.startswith(
        f"{ME}: time 00:30:00 (before: 01:00:00); held (job 101)"
    )
    assert run("update", "--release").out == f"{ME}: released (job 101)\n"
    assert [values for _, values in slurm.changed] == [{"time": "00:30:00"}, {"held": "yes"}, {"held": "no"}]
    assert [values for values, _, _ in changes(waiting)] == [{"time": "00:30:00"}, {"held": "yes"}, {"held": "no"}]


def test_a_refusal_leaves_the_journal_unchanged(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    slurm.refuses_change = "Slurm refuses --time of job 101: no"
    said = run("update", "--time", "2:00:00")
    assert (said.code, said.err.splitlines()[0]) == (4, "error E621: Slurm refuses --time of job 101: no")
    assert changes(waiting) == []


def test_no_answer_changes_nothing(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    slurm.fails = "away"
    assert run("update", "--time", "2:00:00").code == 6
    assert changes(waiting) == []
    # How often it is retried is no question to Slurm.
    assert run("update", "--retries", "2").code == 0
    assert changes(waiting) == [({"retries": "2"}, {"retries": "0"}, "")]


def test_if_the_attempt_ends_the_next_one_is_changed(
    run: Runner, slurm: FakeBackend, waiting: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm says of the first that it has ended; by then there is another one."""
    assert run("update", "--retries", "1").code == 0
    change = slurm.change

    def late(job_id: JobId, values: Mapping[str, str], before: Sequence[Mapping[str, str]] = ()) -> None:
        if job_id == "101":
            leave_result(waiting, **FAILED | {"ended_at": clock() + 1})
            ended(slurm, "101")
            raise RejectedError(Diagnostic(code="E621", message="Job has already finished"))
        change(job_id, values, before)

    monkeypatch.setattr(slurm, "change", late)
    said = run("update", "--time", "30")
    assert said.out == f"{ME}: time 00:30:00 (before: 01:00:00) (job 102)\n", said.err
    assert slurm.changed == [(JobId("102"), {"time": "00:30:00"})]
    assert [job_id for _, _, job_id in changes(waiting)] == ["", "102"]


def test_a_journal_write_error_is_reported(
    run: Runner, slurm: FakeBackend, waiting: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("paislurm.translator.state.job_folder.append", full)
    said = run("update", "--time", "30")
    assert (said.code, len(slurm.changed)) == (4, 1)
    assert f"error E510: cannot write {waiting.journal} (No space left on device); job 101 was changed" in said.err


def test_without_its_job_file_a_job_is_checked_only_by_slurm(
    run: Runner, slurm: FakeBackend, waiting: JobFolder
) -> None:
    (waiting.path / "job.yaml").unlink()
    assert run("update", "--time", "30").code == 0
    assert len(slurm.changed) == 1


def test_a_running_job_cannot_be_held(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert waiting
    slurm.observations[JobId("101")] = observed("RUNNING", job_id="101")
    said = run("update", "--hold")
    assert (said.code, "error E622: " in said.err, "only a waiting job can be held" in said.err) == (4, True, True)
    assert slurm.changed == []
    assert run("update", "--time", "30").code == 0


@pytest.mark.parametrize("words", [("--time", "30", "--retries", "2"), ("--hold",)])
def test_between_attempts_only_the_journal_is_written(
    run: Runner, slurm: FakeBackend, surroundings: Path, words: tuple[str, ...]
) -> None:
    folder = make(surroundings, "retried", "11", replace(RETRY, happened_at=clock()))
    folder.script(0).write_text("#!/bin/bash -p\n#SBATCH --time=01:00:00\n", encoding="utf-8")
    said = run("update", "retried", *words)
    assert said.out.endswith(" (from the next attempt on)\n")
    assert slurm.changed == []
    assert [job_id for _, _, job_id in changes(folder)] == [""]


def test_a_job_with_dependencies_can_be_changed(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    make(surroundings, "first", "11")
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    me = user_name()
    first = Dependency(name=f"{me}~first", created_at=clock() - 5)
    created = replace(CREATED, user=me, job="next", happened_at=clock(), dependencies=(first,), first_tag="paislurm-9")
    folder = job_folder(surroundings, created, name=f"{me}~next")
    folder.script(0).write_text("#!/bin/bash -p\n", encoding="utf-8")
    assert run("update", "next", "--time", "30").out.endswith(" (when it is submitted)\n")
    assert (slurm.changed, changes(folder)) == ([], [({"time": "00:30:00"}, {"time": ""}, "")])


def refused(words: str) -> tuple[Record, ...]:
    """Return what the journal has of a first attempt that was refused just now."""
    return replace(INTENT, happened_at=clock(), tag="paislurm-9"), Refused(happened_at=clock(), attempt=0, reason=words)


def not_submitted(surroundings: Path, slurm: FakeBackend, *records: Record) -> JobFolder:
    """Make the folder of a job that waits for another one, which runs."""
    other = make(surroundings, "first", "11")
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    me, first = user_name(), Dependency(name=f"{user_name()}~first", created_at=other.history().created)
    created = replace(CREATED, user=me, job="next", happened_at=clock(), dependencies=(first,), first_tag="paislurm-9")
    folder = job_folder(surroundings, created, *records, name=f"{me}~next")
    folder.script(0).write_text("#!/bin/bash -p\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "records",
    [
        lambda: (),
        lambda: (RETRY,),
        lambda: refused("no more jobs"),
    ],
)
def test_values_that_slurm_would_refuse_later_are_refused_now(
    run: Runner,
    slurm: FakeBackend,
    surroundings: Path,
    monkeypatch: pytest.MonkeyPatch,
    records: Callable[[], tuple[Record, ...]],
) -> None:
    folder = not_submitted(surroundings, slurm, *records())
    monkeypatch.setattr("paislurm.translator.app.session.user_name", lambda: "alice")
    said = run("update", "next", "--nice", "-4", "--time", "30")
    assert (said.code, changes(folder), slurm.changed) == (4, [], [])
    assert "error E625: " in said.err
    assert "would reject it with a nice of -4" in said.err
    assert run("update", "next", "--nice", "4").code == 0
    assert [values for values, _, _ in changes(folder)] == [{"nice": "4"}]
    monkeypatch.setattr("paislurm.translator.app.session.user_name", lambda: "root")
    assert run("update", "next", "--nice", "-4").code == 0


def test_any_nice_value_is_sent_for_a_submitted_job(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert waiting
    assert run("update", "--nice", "-4").code == 0
    assert slurm.changed == [(JobId("101"), {"nice": "-4"})]


def test_a_refused_attempt_is_shown_and_can_be_changed(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    words = "sbatch refuses --account: \x1b[1mno more jobs"
    folder = not_submitted(surroundings, slurm, *refused(words))
    shown = run("status", "next").out
    assert "attempt 0 is not submitted yet: sbatch refuses --account: " in shown
    assert "not submitted\n" in shown
    assert "\x1b[1m" not in shown
    assert "did not report whether" not in shown
    assert "is not submitted yet: sbatch refuses" in json.loads(run("list", "--json").out)["jobs"][0]["reason"]
    assert run("update", "next", "--account", "lab").out.endswith(" (when it is submitted)\n")
    assert [values for values, _, _ in changes(folder)] == [{"account": "lab"}]
    # It is tried at once.
    assert (slurm.changed, slurm.submissions[0].tag) == ([], "paislurm-9")


def test_a_refused_attempt_is_cancelled_at_once(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    folder = not_submitted(surroundings, slurm, *refused("no more jobs"))
    assert run("cancel", "next").out == f"{user_name()}~next is cancelled\n"
    assert "STOPPED" in run("status", "next").out
    assert (slurm.submissions, slurm.cancelled) == ([], [])
    assert folder.history().cancelled is not None


def test_a_hold_before_submission_is_shown(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    not_submitted(surroundings, slurm)
    assert run("update", "next", "--hold").out.endswith("held (when it is submitted)\n")
    assert "; its user holds it when it is submitted" in run("status", "next").out
    assert run("update", "next", "--release").code == 0
    assert "its user holds it" not in run("status", "next").out


def test_a_finished_job_cannot_be_changed(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    make(surroundings, "old", "11", ENDED)
    said = run("update", "old", "--time", "30")
    assert (said.code, "error E620: " in said.err, "`paislurm submit --again old --time" in said.err) == (
        4,
        True,
        True,
    )
    living = make(surroundings, "new", "12")
    living.script(0).touch()
    slurm.observations[JobId("12")] = observed("PENDING", job_id="12", reason="Priority")
    said = run("update", "*", "--time", "30")
    assert (said.code, len(said.out.splitlines()), slurm.changed) == (0, 2, [(JobId("12"), {"time": "00:30:00"})])
    assert "old has already ended: FAILED" in said.out


def test_a_job_being_cancelled_cannot_be_changed(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    make(surroundings, "going", "11", Cancelled(happened_at=clock(), attempt=0, user="alice", job_id="11"))
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    said = run("update", "going", "--retries", "3")
    assert (said.code, "error E620: " in said.err, "is being cancelled" in said.err) == (4, True, True)


def test_a_job_with_unknown_submission_cannot_be_changed(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    me, at = user_name(), clock()
    sent = replace(INTENT, happened_at=at)
    folder = job_folder(surroundings, replace(CREATED, user=me, happened_at=at), sent, name=f"{me}~unsure")
    said = run("update", "unsure", "--time", "30")
    assert (said.code, "error E623: " in said.err, slurm.changed) == (4, True, [])
    assert run("update", "unsure", "--retries", "3").code == 0
    assert [values for values, _, _ in changes(folder)] == [{"retries": "3"}]


def test_a_refused_change_does_not_stop_the_others(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    for name, number in (("a", "11"), ("b", "12")):
        make(surroundings, name, number).script(0).touch()
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11")
    slurm.observations[JobId("12")] = observed("PENDING", job_id="12", reason="Priority")
    said = run("update", "a", "b", "--hold")
    assert (said.code, slurm.changed) == (4, [(JobId("12"), {"held": "yes"})])
    assert "~b: held (job 12)" in said.err


def test_the_local_backend_changes_only_retries(run: Runner, tmp_path: Path, demo: JobFolder) -> None:
    file = job_file(tmp_path, JOB.replace("echo and bye", "sleep 60"))
    assert run("submit", file, "--backend", "local").code == 0
    try:
        said = run("update", "--time", "30")
        assert (said.code, "error E622: " in said.err) == (4, True)
        assert run("update", "--retries", "2").out == f"{ME}: retries 2 (before: 0)\n"
    finally:
        run("cancel", "demo")
    assert [values for values, _, _ in changes(demo)] == [{"retries": "2"}]


@pytest.mark.parametrize(
    ("site", "words", "code", "says"),
    [
        (SITE, ("--partition", "bach"), "E402", "the site has no partition 'bach'"),
        (
            SITE.replace("nodes:", "timeLimit: 60, nodes:"),
            ("--time", "2:00:00"),
            "E403",
            "is more than partition batch",
        ),
        (
            SITE + "virtualClusters: {default: {account: lab}}\nlocked: [virtualClusters]\n",
            ("--account", "mine"),
            "E467",
            "the site locks",
        ),
    ],
)
def test_values_refused_at_submit_are_refused_at_update(
    run: Runner,
    slurm: FakeBackend,
    waiting: JobFolder,
    profile: Path,
    site: str,
    words: tuple[str, str],
    code: str,
    says: str,
) -> None:
    profile.write_text(site, encoding="utf-8")
    said = run("update", *words)
    assert (said.code, f"error {code}: " in said.err, says in said.err) == (4, True, True), said.err
    assert (slurm.changed, changes(waiting)) == ([], [])
    assert run("update", "--nice", "3").code == 0


LOCKED = SITE + "virtualClusters: {default: {account: lab}}\nlocked: [virtualClusters]\n"


@pytest.mark.parametrize("kind", ["gone", "torn", "another version's", "without a beginning"])
@pytest.mark.parametrize(
    ("words", "code"), [(("--account", "mine"), "E467"), (("--partition", "bach"), "E402"), (("--account", "lab"), "")]
)
def test_locks_and_names_are_checked_even_without_the_job_file(
    run: Runner, slurm: FakeBackend, waiting: JobFolder, profile: Path, kind: str, words: tuple[str, ...], code: str
) -> None:
    profile.write_text(LOCKED, encoding="utf-8")
    journal = waiting.journal.read_text(encoding="utf-8")
    created, _, rest = journal.partition("\n")
    if kind == "gone":
        (waiting.path / "job.yaml").unlink()
    elif kind == "torn":
        (waiting.path / "job.yaml").write_text("taskRoles: [", encoding="utf-8")
    elif kind == "another version's":
        first = json.loads(created)
        del first["run"]
        waiting.journal.write_text(f"{json.dumps(first)}\n{rest}", encoding="utf-8")
    else:
        waiting.journal.write_text(f"?\n{rest}", encoding="utf-8")
    said = run("update", "demo", *words)
    assert (said.code, f"error {code}: " in said.err) == ((4, True) if code else (0, False)), said.err
    assert bool(slurm.changed) == (not code)
    assert code or "only Slurm checks the change" in said.err


def test_earlier_errors_do_not_prevent_a_change(
    run: Runner, slurm: FakeBackend, waiting: JobFolder, profile: Path
) -> None:
    """The profile of today has no room for the job: what it is changed to is not to blame."""
    assert waiting
    profile.write_text(SITE.replace("memoryMB: 100000", "memoryMB: 32"), encoding="utf-8")
    said = run("update", "--time", "30")
    assert (said.code, "only Slurm checks the change" in said.err) == (0, True), said.err
    assert slurm.changed == [(JobId("101"), {"time": "00:30:00"})]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing to change"),
        (("--image", "debian"), "edit the job file and submit it again"),
        (("--command", "true"), "edit the job file and submit it again"),
        (("--time", "soon"), "E585"),
        (("--partition", "a b"), "E585"),
        (("--retries", "-1"), "expected a whole number from 0 to 1000000, found '-1'"),
        (("--nice", "much"), "expected a whole number, found 'much'"),
    ],
)
def test_invalid_update_options_are_refused(run: Runner, words: tuple[str, ...], says: str) -> None:
    said = run("update", "demo", *words)
    assert (said.code, says in said.err) == (2, True), said.err


@pytest.mark.parametrize("word", ["edit", "patch", "scale", "modify", "hold", "release"])
def test_words_of_other_programs_suggest_update(run: Runner, word: str) -> None:
    said = run(word, "demo")
    assert (said.code, "paislurm update JOB" in said.err) == (2, True)


def test_a_job_of_another_user_is_not_changed(run: Runner, waiting: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.geteuid()
    monkeypatch.setattr("paislurm.translator.app.ownership.os.geteuid", lambda: uid + 1)
    monkeypatch.setattr("paislurm.translator.app.ownership.check_home", lambda _: None)
    assert run("update", "demo", "--time", "30").code != 0
    assert changes(waiting) == []

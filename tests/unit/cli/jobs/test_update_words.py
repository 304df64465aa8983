"""`paislurm update`: changes that are made in part, and hints at what was typed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling as asking
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FakeBackend, observed
from ..running import ME, Runner
from .test_update import changes


def test_accepted_options_are_recorded_if_others_are_refused(
    run: Runner, slurm: FakeBackend, waiting: JobFolder
) -> None:
    slurm.refused_options = ("nice",)
    said = run("update", "--time", "9:00", "--nice", "3", "--retries", "2", "--hold")
    assert (said.code, said.out) == (4, "")
    assert "error E621: no nice\n" in f"{said.err}\n"
    assert f"{ME}: time 00:09:00, retries 2, held (job 101)" in said.err
    assert [values for values, _ in changes(waiting)] == [{"time": "00:09:00", "retries": "2", "held": "yes"}]
    document = run.json("update", "--time", "10:00", "--nice", "3")
    assert (document["exit_status"], document["diagnostics"][0]["code"]) == (4, "E621")
    assert changes(waiting)[-1] == ({"time": "00:10:00"}, "101")


def test_status_after_a_change_polls_again(
    run: Runner, slurm: FakeBackend, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands share one answer of Slurm, but none from before the change."""
    monkeypatch.setattr(asking, "SHARED", ("slurm",))

    def change(job_id: JobId, values: Mapping[str, str]) -> None:
        reason = "JobHeldUser" if values.get("held") == "yes" else "Priority"
        slurm.observations[job_id] = observed("PENDING", job_id=job_id, reason=reason, reasons=(reason,))

    monkeypatch.setattr(slurm, "change", change)
    assert run("submit", job).code == 0
    assert "Priority" in run("status").out
    assert "its user holds it" in run.json("update", "--hold")["reason"]
    queries = slurm.queries
    shown = run("status").out
    assert "its user holds it" in shown
    assert "release it with `paislurm update demo --release`" in shown
    assert slurm.queries == queries
    released = run.json("update", "--release")
    assert (released["message"], "holds" in released["reason"]) == (f"{ME}: released (job 101)", False)
    assert "its user holds it" not in run("status").out


def test_changes_not_shown_are_counted(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert slurm.submissions
    for number in range(7):
        assert run("update", "--nice", str(number)).code == 0
        shown = run("status", "demo").out
        earlier = {5: "1 earlier change: ", 6: "2 earlier changes: "}.get(number)
        assert re.findall(r"\d+ earlier changes?: ", shown) == ([earlier] if earlier else [])
        assert len(re.findall(r"^changed  .*: nice \d", shown, re.MULTILINE)) == min(number + 1, 5)
    assert "`paislurm status --json` lists them all" in run("status", "demo").out
    assert len(run.json("status", "demo")["changes"]) == len(changes(waiting)) == 7


def test_a_hold_and_a_release_exclude_each_other(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    for words in (("--hold", "--release"), ("--release", "--hold")):
        said = run("update", *words)
        assert (said.code, "--hold cannot be used with --release" in said.err) == (2, True)
    assert (slurm.changed, changes(waiting)) == ([], [])


@pytest.mark.parametrize("words", [(), ("--memory", "5")])
def test_a_hint_is_a_line_of_its_own(run: Runner, words: tuple[str, ...]) -> None:
    said = run("update", "demo", *words)
    assert (said.code, said.err.splitlines()[-1].startswith("hint: update cannot change commands, images, tasks")) == (
        2,
        True,
    )
    document = run.json("update", "demo", *words)
    assert (document["exit_status"], "commands, images" in json.dumps(document)) == (2, True)

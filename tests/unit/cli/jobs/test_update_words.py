"""`paislurm update`: changes that are made in part, limits that come soon, and hints at what was typed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId
from paislurm.translator.app.jobs import polling as asking
from paislurm.translator.times import time_of_day
from tests.clock import clock

from ...monitor.jobs import ENDED, FakeBackend, observed
from ..running import JOB, ME, SITE, job_file
from .test_many import make
from .test_update import changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from paislurm.translator.state.job_folder import JobFolder

    from ..running import Runner

SLURM_HAS = {"time": "04:00:00", "partition": "batch", "account": "research", "qos": "normal", "nice": "0"}


def test_accepted_options_are_recorded_if_others_are_refused(
    run: Runner, slurm: FakeBackend, waiting: JobFolder
) -> None:
    slurm.refused_options = ("nice",)
    said = run("update", "--time", "9:00", "--nice", "-3", "--retries", "2", "--hold")
    assert (said.code, said.out) == (4, "")
    assert "error E621: no nice\n" in f"{said.err}\n"
    assert f"{ME}: time 00:09:00, retries 2 (before: time 01:00:00, retries 0); held (job 101)" in said.err
    assert [values for values, _, _ in changes(waiting)] == [{"time": "00:09:00", "retries": "2"}, {"held": "yes"}]
    document = json.loads(run("update", "--json", "--time", "10:00", "--nice", "-3").out)
    assert (document["exit_status"], document["diagnostics"][0]["code"]) == (4, "E621")
    assert changes(waiting)[-1] == ({"time": "00:10:00"}, {"time": "00:09:00"}, "101")


def test_retries_change_even_if_slurm_refuses_other_options(
    run: Runner, slurm: FakeBackend, waiting: JobFolder
) -> None:
    slurm.refused_options = ("nice",)
    assert run("update", "--nice", "-3", "--retries", "2").code == 4
    assert changes(waiting) == [({"retries": "2"}, {"retries": "0"}, "")]


def test_old_values_come_from_slurm(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    """A limit of the partition, a default account: who changes a job wants to be able to change it back."""
    slurm.has[JobId("101")] = (SLURM_HAS, {**SLURM_HAS, "account": "extra"})
    said = run("update", "--time", "30", "--account", "lab", "--qos", "long", "--nice", "5")
    before = "(before: time 04:00:00, account research,extra, qos normal, nice 0)"
    assert said.out == f"{ME}: time 00:30:00, account lab, qos long, nice 5 {before} (job 101)\n"
    assert changes(waiting)[0][1] == {"time": "04:00:00", "account": "research,extra", "qos": "normal", "nice": "0"}
    assert slurm.option_queries == 1
    assert run("update", "--retries", "1").code == 0
    assert run("update", "--hold").code == 0
    assert slurm.option_queries == 1


def test_one_query_for_the_options_of_all_jobs(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    for number in ("11", "12", "13"):
        make(surroundings, f"job{number}", number)
        slurm.observations[JobId(number)] = observed("PENDING", job_id=number, reason="Priority")
        slurm.has[JobId(number)] = (SLURM_HAS,)
    said = run("update", "job*", "--time", "30")
    assert said.out.count("(before: 04:00:00)") == 3
    assert slurm.option_queries == 1


def running(slurm: FakeBackend, seconds: int) -> int:
    """Let the job run for some time; return when it began."""
    began = clock() - seconds
    slurm.observations[JobId("101")] = observed("RUNNING", job_id="101", started=began)
    return began


def test_a_limit_that_would_end_a_job_at_once_is_refused(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    """The script of the job has its tasks told to end two minutes before."""
    running(slurm, 4)
    said = run("update", "--time", "2:00", "--nice", "3")
    assert (said.code, slurm.changed, changes(waiting)) == (4, [], [])
    assert re.search(r"error E624: \S+ has run for 00:00:0\d: a limit of 00:02:00 would end it at once", said.err)
    assert "its tasks get a warning 120 s before the limit" in said.err
    enough = re.search(r"use `--time (\S+)` or more, or cancel it with `paislurm cancel demo`", said.err)
    assert enough
    assert run("update", "--time", enough[1]).code == 0
    running(slurm, 600)
    assert "error E624" in run("update", "--time", "12").err
    assert run("update", "--time", "13").code == 0


def test_a_new_time_limit_reports_the_time_of_the_warning(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert waiting
    began = running(slurm, 60)
    at = time_of_day(began + 600 - 120)
    reported = f"; tasks get a warning 120 s before the limit, at {at} or up to a minute earlier"
    assert run("update", "--time", "10").out == f"{ME}: time 00:10:00 (before: 01:00:00) (job 101){reported}\n"
    assert "told to end" not in run("update", "--nice", "3").out


def test_a_waiting_job_gets_no_warning_at_its_start(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    assert waiting
    said = run("update", "--time", "2")
    assert (said.code, slurm.changed) == (4, [])
    assert f"error E624: a limit of 00:02:00 would end {ME} at its start" in said.err
    reported = "; tasks get a warning 120 s before the limit or up to a minute earlier"
    assert run("update", "--time", "5").out == f"{ME}: time 00:05:00 (before: 01:00:00) (job 101){reported}\n"
    assert run("update", "--time", "6").out == f"{ME}: time 00:06:00 (before: 00:05:00) (job 101)\n"


def test_a_job_without_a_warning_may_use_its_full_time_limit(run: Runner, slurm: FakeBackend, job: str) -> None:
    assert run("submit", job, "--time", "4").code == 0
    assert run("update", "--time", "1").out == f"{ME}: time 00:01:00 (before: 00:04:00) (job 101)\n"
    running(slurm, 90)
    said = run("update", "--time", "1")
    assert (said.code, "would end it at once\n" in said.err) == (4, True)
    assert run("update", "--time", "3").out == f"{ME}: time 00:03:00 (before: 00:01:00) (job 101)\n"


def test_status_after_a_change_polls_again(
    run: Runner, slurm: FakeBackend, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands share one answer of Slurm, but none from before the change."""
    monkeypatch.setattr(asking, "SHARED", ("slurm",))

    def change(job_id: JobId, values: Mapping[str, str], before: Sequence[Mapping[str, str]] = ()) -> None:  # noqa: ARG001 - as in Backend
        reason = "JobHeldUser" if values.get("held") == "yes" else "Priority"
        slurm.observations[job_id] = observed("PENDING", job_id=job_id, reason=reason, reasons=(reason,))

    monkeypatch.setattr(slurm, "change", change)
    assert run("submit", job).code == 0
    assert "Priority" in run("status").out
    assert "its user holds it" in json.loads(run("update", "--hold", "--json").out)["reason"]
    queries = slurm.queries
    shown = run("status").out
    assert "its user holds it" in shown
    assert "release it with `paislurm update demo --release`" in shown
    assert slurm.queries == queries
    released = json.loads(run("update", "--release", "--json").out)
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
    assert len(json.loads(run("status", "--json", "demo").out)["changes"]) == len(changes(waiting)) == 7


TIGHT = SITE.replace(
    "defaultPartition", "  tiny: {nodes: [{count: 1, cpus: 16, memoryMB: 100000}], timeLimit: 30}\ndefaultPartition"
)


@pytest.mark.parametrize(
    ("words", "says", "hint"),
    [
        (
            ("--partition", "zzz"),
            "E402: --partition: the site has no partition 'zzz'",
            "hint: write `--partition batch`",
        ),
        (("--partition", "batch,tiny"), "E402: --partition: ", "hint: write one partition, not a list"),
        (
            ("--partition", "tiny"),
            "E411: --partition tiny: the requested layout",
            "hint: use other options, or submit a changed job file",
        ),
        (("--time", "1-0", "--partition", "tiny"), "E403: --time: a time limit", "hint: write `--time 00:30:00`"),
    ],
)
def test_errors_name_the_options(
    run: Runner, slurm: FakeBackend, tmp_path: Path, profile: Path, words: tuple[str, ...], says: str, hint: str
) -> None:
    profile.write_text(TIGHT, encoding="utf-8")
    second = (
        "  other:\n    instances: 1\n    dockerImage: image\n    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}\n"
    )
    text = f"{JOB}{second}    commands: ['true']\nextras: {{slurm: {{layout: het}}}}\n"
    assert run("submit", job_file(tmp_path, text, "big2.yaml")).code == 0
    said = run("update", "demo", *words)
    assert (said.code, slurm.changed) == (4, [])
    assert says in said.err
    assert hint in said.err
    assert "extras.slurm" not in said.err
    assert ".yaml:" not in said.err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--time", "30"), "submit it again, with this option: `paislurm submit --again old --time ...`"),
        (
            ("--qos", "a", "--nice", "3", "--partition", "batch"),
            "submit it again, with these options: `paislurm submit --again old --partition ... --qos ...`",
        ),
        (("--hold",), "submit it again: `paislurm submit --again old`"),
        (("--retries", "3"), "submit it again: `paislurm submit --again old`"),
    ],
)
def test_the_hint_for_a_finished_job_repeats_the_given_options(
    run: Runner, slurm: FakeBackend, surroundings: Path, words: tuple[str, ...], hint: str
) -> None:
    make(surroundings, "old", "11", ENDED)
    said = run("update", "old", *words)
    assert (said.code, slurm.changed) == (4, [])
    assert said.err.splitlines()[-1] == f"hint: {hint}"


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
    document = json.loads(run("update", "--json", "demo", *words).out)
    assert (document["exit_status"], "commands, images" in json.dumps(document)) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("update", "--retries", "x"), "'--retries': expected a whole number from 0 to 1000000, found 'x'"),
        (("update", "--nice", "1.5"), "'--nice': expected a whole number, found '1.5'"),
        (("list", "--limit", "-1"), "'--limit': expected a whole number from 0 on, found '-1'"),
        (("logs", "demo", "--tail", "many"), "expected a whole number from 0 on, found 'many'"),
        (
            ("port-forward", "demo", "w-0", "80", "--local-port", "70000"),
            "a whole number from 1 to 65535, found '70000'",
        ),
    ],
)
def test_values_out_of_range_are_refused(run: Runner, words: tuple[str, ...], says: str) -> None:
    said = run(*words)
    assert (said.code, says in said.err) == (2, True), said.err


def test_the_help_shows_the_ranges(run: Runner) -> None:
    said = " ".join(run("update", "--help").out.split())
    assert "Lower the job's priority by NUMBER. --hold" in said
    assert "(jobRetryCount). [0<=x<=1000000]" in said

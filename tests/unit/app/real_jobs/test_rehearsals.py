"""Rehearsals of jobs on this machine: which continue after a fault, and which have a bug there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.rehearsal.resuming import judge_files, judge_log, judge_tasks, text_order_shows
from tests.rehearsed_jobs import RIGHT, WRONG, rehearsed_text

from ..asked import Asked

GUARDED = {"EXTRAS": "progress: {within: 3s, warmUp: 1s, action: end},"}


def rehearsed(asked: Asked, job: dict[str, str], *faults: str, **options: Any) -> list[dict[str, Any]]:
    Path("steps.yaml").write_text(rehearsed_text(job))
    done = asked.jobs.rehearse("steps.yaml", *faults, patience=100, **options)
    assert done.value, done.err
    return list(done.document["rehearsals"])


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("name", RIGHT)
def test_a_job_that_resumes_continues(asked: Asked, name: str) -> None:
    (found,) = rehearsed(asked, RIGHT[name], "kill")
    assert found["resuming"]["verdict"] == "continued", found
    assert ("137" in found["first_end"], "transient" in found["retry_rule"]) == (True, True), found


@pytest.mark.parametrize("name", WRONG)
def test_a_bug_in_resuming_is_found(asked: Asked, name: str) -> None:
    verdict, job = WRONG[name]
    (found,) = rehearsed(asked, job, "kill")
    assert found["resuming"]["verdict"] == verdict, found


def test_each_fault_has_a_job_of_its_own(tmp_path: Path, asked: Asked) -> None:
    real = tmp_path / "here" / "run" / "step-7"
    real.parent.mkdir()
    real.touch()
    found = rehearsed(asked, RIGHT["a file for each step"] | GUARDED)
    verdicts = [(each["fault"], each["resuming"]["verdict"]) for each in found]
    assert verdicts == [(fault, "continued") for fault in ("term", "kill", "node", "stall")]
    assert "w-0 is stopped by a signal" in found[-1]["first_end"]
    # The checkpoints of a real run are neither read nor written.
    assert [*real.parent.iterdir()] == [real]
    assert all(each["resuming"]["shown_by"].startswith("the first attempt went from 1 ") for each in found)
    assert [*(tmp_path / "home").glob("jobs/*"), *(tmp_path / "home").glob("rehearsals/*")] == []
    assert (asked.jobs.list().value, asked.sites.nodes().document["bad_nodes"]) == ([], [])


@pytest.mark.parametrize(
    ("guard", "verdict", "words"),
    [
        ("", "not tried", "no stall guard (`extras.slurm.progress`)"),
        ("progress: {within: 10m},", "not tried", "the stall guard waits up to 1200 s"),
        ("progress: {within: 2s, warmUp: 1s},", "not retried", "the stall guard only reports: no task has moved"),
    ],
)
def test_a_stall_needs_a_guard_that_ends_the_attempt(asked: Asked, guard: str, verdict: str, words: str) -> None:
    job = RIGHT["one file"] | {"EXTRAS": guard}
    (found,) = rehearsed(asked, job, "stall")
    assert (found["resuming"]["verdict"], words in found["resuming"]["shown_by"]) == (verdict, True), found


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (
            "[ ! -e run/last ] || exit 3",
            "the second attempt ended before anything showed it: task w-0 failed with status 3",
        ),
        ("exit 0", "the first attempt ended before 4 checkpoints and lines of progress: make the job longer"),
    ],
)
def test_a_job_that_ends_too_soon_shows_nothing(asked: Asked, load: str, says: str) -> None:
    (found,) = rehearsed(asked, RIGHT["one file"] | {"LOAD": load}, "kill")
    assert found["resuming"]["shown_by"].startswith(says), found


@pytest.mark.parametrize(
    ("resumes", "words"),
    [
        ('file: "/data/run/*"', "may be those of real runs"),
        ('log: "resumed"', "does not say how it continues"),
        ("", "does not say how it continues"),
    ],
)
def test_a_job_that_cannot_be_rehearsed_is_refused(tmp_path: Path, asked: Asked, resumes: str, words: str) -> None:
    (tmp_path / "here" / "steps.yaml").write_text(rehearsed_text({"RESUMES": resumes}))
    done = asked.jobs.rehearse("steps.yaml")
    assert (done.code, words in done.err) == (2, True)
    assert not list((tmp_path / "home").glob("jobs/*rehearse*"))


def test_without_a_retry_there_is_nothing_to_judge(tmp_path: Path, asked: Asked) -> None:
    (tmp_path / "site.yaml").write_text("version: 1\nretry: {maxTransientRetries: 0}\n")
    site = str(tmp_path / "site.yaml")
    (found,) = rehearsed(asked, RIGHT["one file"], "node", site=site)
    assert (found["resuming"]["verdict"], found["retry_rule"]) == ("not retried", None)
    assert "node" in found["first_end"]
    assert "the site allows no retries outside the budget" in found["resuming"]["shown_by"]


PROGRESS = re.compile("step ([0-9]+)")


@given(st.integers(0, 50), st.integers(1, 40), st.integers(1, 60))
def test_the_progress_tells_where_the_second_attempt_began(begin: int, steps: int, start: int) -> None:
    first = [f"step {number}" for number in range(begin, begin + steps)]
    found = judge_log(PROGRESS, first, ["noise", f"step {start}", "step 999"])
    assert found is not None
    reached = begin + steps - 1 + 2 * (steps > 1)
    expected = "began again" if start <= begin else "continued" if start <= reached else "skipped work"
    assert found.verdict == expected


@given(st.integers(0, 5), st.integers(1, 9), st.integers(1, 300))
def test_twelve_names_of_equal_steps_show_an_order_by_text(digits: int, stride: int, after: int) -> None:
    names = [f"run/step-{stride * number}" for number in range(1, 13)]
    assert text_order_shows(names)
    shown = next(count for count in range(1, 13) if text_order_shows(names[:count]))
    # One that loads the last by text goes back at least behind the last but one.
    last_by_text = names.index(max(names[:shown]))
    assert shown == 12 or last_by_text < shown - 2
    assert text_order_shows([f"step-{number:0{digits + 4}}" for number in range(after)] or ["last"])


def test_the_worst_task_counts() -> None:
    first = {"w-0": ["step 1", "step 5"], "w-1": ["step 1", "step 5"], "ps-0": ["ready"]}
    for second, ended, verdict in (
        ({"w-0": ["step 6"]}, False, None),
        ({"w-0": ["step 6"]}, True, "continued"),
        ({"w-0": ["step 6"], "w-1": ["step 6"]}, False, "continued"),
        ({"w-0": ["step 6"], "w-1": ["step 1"]}, False, "began again"),
        ({"w-1": ["step 1"]}, False, "began again"),
    ):
        found = judge_tasks(PROGRESS, first, second, ended=ended)
        assert (found and found.verdict) == verdict
        assert found is None or found.shown_by.startswith("w-")


def test_without_new_output_or_files_nothing_is_known() -> None:
    resumed = re.compile("resumed")
    known = (
        judge_log(resumed, ["resumed from nothing"], ["resumed from 3"]),
        judge_files({"a": 1}, {"a": 9}),
    )
    assert [found and found.verdict for found in known] == ["unknown", "unknown"]
    assert [judge_log(PROGRESS, ["step 1"], ["loading"]), judge_log(resumed, [], ["loading"])] == [None, None]
    assert judge_files({"a": 1}, {"a": 1}) is None

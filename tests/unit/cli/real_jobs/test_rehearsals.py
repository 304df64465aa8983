"""Rehearsals of jobs on this machine: which continue after a fault, and which have a bug there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.rehearsal.resuming import judge_files, judge_log

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

JOB = """\
protocolVersion: 2
name: steps
type: job
jobRetryCount: 2
prerequisites: [{name: plain, type: dockerimage, uri: debian}]
taskRoles:
  w:
    instances: INSTANCES
    dockerImage: plain
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - |
        cd "$PAISLURM_SUBMIT_DIR"; mkdir -p run; n=0
        LOAD
        while [ "$n" -lt 10000 ]; do n=$((n + 1)); PRINT; SAVE; sleep 0.2; done
extras: {slurm: {resumes: {RESUMES}}}
"""
LIST = 'list() { ls run | sed "s/[^0-9]//g" | sort -n; }'
NUMBERS, FILES, ONE = 'log: "step ([0-9]+)"', 'file: "./run/step-*"', 'file: "./run/last"'
MANY = {"LOAD": f"{LIST}; n=$(list | tail -n 1); n=${{n:-0}}", "SAVE": "touch run/step-$n"}
LAST = {"LOAD": "[ ! -e run/last ] || n=$(cat run/last)", "SAVE": "echo $n >run/new; mv run/new run/last"}
SAYS = {"LOAD": '[ ! -e run/last ] || { n=$(cat run/last); echo "resumed after step $n"; }', "SAVE": LAST["SAVE"]}
RIGHT: dict[str, dict[str, str]] = {
    "a file for each step": {**MANY, "RESUMES": f"{FILES}, {NUMBERS}"},
    "only files are known": {**MANY, "RESUMES": FILES},
    "one file": {**LAST, "RESUMES": f"{ONE}, {NUMBERS}"},
    "a line about it": {**SAYS, "RESUMES": f'{ONE}, log: "resumed after"', "PRINT": ":"},
    "saves each second step": {
        "LOAD": LAST["LOAD"], "SAVE": f"if [ $((n % 2)) = 0 ]; then {LAST['SAVE']}; fi", "RESUMES": f"{ONE}, {NUMBERS}",
        "INSTANCES": "1",
    },
}  # fmt: skip
WRONG: dict[str, tuple[str, dict[str, str]]] = {
    "it loads nothing": ("began again", {**MANY, "LOAD": ":", "RESUMES": f"{FILES}, {NUMBERS}"}),
    "it loads nothing, and only files are known": ("began again", {**MANY, "LOAD": ":", "RESUMES": FILES}),
    "it loads the oldest": (
        "went back",
        {**MANY, "LOAD": f"{LIST}; n=$(list | head -n 1); n=${{n:-0}}", "RESUMES": f"{FILES}, {NUMBERS}"},
    ),
    "it skips work": (
        "skipped work",
        {**LAST, "LOAD": f"{LAST['LOAD']}; [ $n = 0 ] || n=$((n + 10))", "RESUMES": f"{ONE}, {NUMBERS}"},
    ),
    "it looks in another folder": (
        "began again",
        {
            **SAYS,
            "LOAD": SAYS["LOAD"].replace("run/last", "$PAI_WORK_DIR/last"),
            "RESUMES": f'{ONE}, log: "resumed after"',
            "PRINT": ":",
        },
    ),
}


def rehearsed(tmp_path: Path, run: Runner, job: dict[str, str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    text = JOB
    for name, value in ({"INSTANCES": "1", "PRINT": "echo step $n"} | job).items():
        text = text.replace(name, value)
    (tmp_path / "steps.yaml").write_text(text)
    done = run("rehearse", "steps.yaml", "--json", "--patience", "100", *words)
    assert done.out, done.err
    return done.code, json.loads(done.out)["rehearsals"]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("name", RIGHT)
def test_a_job_that_resumes_continues(tmp_path: Path, run: Runner, name: str) -> None:
    code, (found,) = rehearsed(tmp_path / "here", run, RIGHT[name], "--fault", "kill")
    assert (code, found["resuming"]["verdict"]) == (0, "continued"), found
    assert "137" in found["first_end"]
    assert "transient" in found["retry_rule"]


@pytest.mark.parametrize("name", WRONG)
def test_a_bug_in_resuming_is_found(tmp_path: Path, run: Runner, name: str) -> None:
    verdict, job = WRONG[name]
    code, (found,) = rehearsed(tmp_path / "here", run, job, "--fault", "kill")
    assert (code, found["resuming"]["verdict"]) == (1, verdict), found


def test_each_fault_has_a_job_of_its_own(tmp_path: Path, run: Runner) -> None:
    here = tmp_path / "here"
    (here / "run").mkdir()
    (here / "run" / "step-7").touch()
    code, found = rehearsed(here, run, RIGHT["a file for each step"])
    assert code == 0
    assert {each["fault"]: each["resuming"]["verdict"] for each in found} == dict.fromkeys(
        ("term", "kill", "node"), "continued"
    )
    # The checkpoints of a real run are neither read nor written.
    assert [path.name for path in (here / "run").iterdir()] == ["step-7"]
    assert all(each["resuming"]["shown_by"].startswith("the first attempt went from 1 ") for each in found)


@pytest.mark.parametrize(
    ("resumes", "words"),
    [
        ('file: "/data/run/*"', "may be those of real runs"),
        ('log: "resumed"', "does not say how it continues"),
        ("", "does not say how it continues"),
    ],
)
def test_a_job_that_cannot_be_rehearsed_is_refused(tmp_path: Path, run: Runner, resumes: str, words: str) -> None:
    text = JOB.replace("RESUMES", resumes).replace("INSTANCES", "1")
    (tmp_path / "here" / "steps.yaml").write_text(text)
    done = run("rehearse", "steps.yaml")
    assert (done.code, words in done.err) == (2, True)
    assert not list((tmp_path / "home").glob("jobs/*rehearse*"))


def test_without_a_retry_there_is_nothing_to_judge(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "site.yaml").write_text("version: 1\nretry: {maxTransientRetries: 0}\n")
    words = ("--fault", "node", "--site", str(tmp_path / "site.yaml"))
    code, (found,) = rehearsed(tmp_path / "here", run, RIGHT["one file"], *words)
    assert (code, found["resuming"]["verdict"], found["retry_rule"]) == (1, "unknown", None)
    assert "node" in found["first_end"]


PROGRESS = re.compile("step ([0-9]+)")


@given(st.integers(0, 50), st.integers(1, 40), st.integers(1, 60))
def test_the_progress_tells_where_the_second_attempt_began(begin: int, steps: int, start: int) -> None:
    first = [f"step {number}" for number in range(begin, begin + steps)]
    found = judge_log(PROGRESS, first, ["noise", f"step {start}", "step 999"])
    assert found is not None
    reached = begin + steps - 1 + 2 * (steps > 1)
    expected = "began again" if start <= begin else "continued" if start <= reached else "skipped work"
    assert found.verdict == expected


def test_without_new_output_or_files_nothing_is_known() -> None:
    assert judge_log(PROGRESS, ["step 1"], ["loading"]) is None
    assert judge_log(re.compile("resumed"), [], ["loading"]) is None
    found = judge_log(re.compile("resumed"), ["resumed from nothing"], ["resumed from 3"])
    assert found is not None
    assert found.verdict == "unknown"
    assert judge_files({"a": 1}, {"a": 1}) is None
    found = judge_files({"a": 1}, {"a": 9})
    assert found is not None
    assert found.verdict == "unknown"

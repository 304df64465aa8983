"""One bad job folder, whatever is in it, takes nothing from the other jobs: they are listed and looked after."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Ended, dump
from tests.clock import clock

from ...cli.running import ME, program
from ...monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, job_folder, leave_result
from ...state.test_safe_read import anything
from ..asked import Asked

HEAD = "JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment|Reason"
GOOD = f"7|demo|CANCELLED by 0|0:15|{NOW - 60}|{NOW - 60}|{NOW}|n1||None"
BAD = f"{user_name()}~bad"
LATE = {"happened_at": clock() - 30}


@pytest.fixture(autouse=True)
def good(surroundings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobFolder:
    """Make a job 7 that Slurm has cancelled, and programs of Slurm that know it and refuse what is no number."""
    refuse = 'all="$*"; case "${all% --local}" in *jobs=*[!0-9,]*\\ *) exit 1 ;; esac'
    for name, answer in {"squeue": "", "sacct": f"{HEAD}\n{GOOD}\n", "scancel": "", "sinfo": ""}.items():
        text = f"echo \"$0 $*\" >>{tmp_path}/asked\n{refuse}\nprintf '%s' '{answer}'"
        program(tmp_path / "programs" / name, text)
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:/usr/bin:/bin")
    return made(surroundings, ME)


def made(jobs: Path, name: str, **changes: Any) -> JobFolder:
    """Make a living job of one's own; `changes` are those of its records, whatever they hold."""
    folder = job_folder(jobs, name=name)
    own = {"user": user_name(), **LATE}
    records = (replace(CREATED, **own), replace(INTENT, **LATE), replace(SUBMITTED, **own))
    raw = [json.loads(dump(record)) for record in records]
    lines = [each | {key: value for key, value in changes.items() if key in each} for each in raw]
    folder.journal.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    folder.script(0).write_text("#!/bin/bash\n", encoding="utf-8")
    return folder


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def unclosed(path: Path) -> None:
    path.write_text("#!/bin/bash\n#SBATCH --comment='it is\n#SBATCH --nodes=\u00b2\n", encoding="utf-8")


def folder_in_place(path: Path) -> None:
    if path.exists():
        path.unlink()
    path.mkdir()


PLACES: dict[str, Callable[[JobFolder], Path]] = {
    "journal": lambda folder: folder.journal,
    "script": lambda folder: folder.script(0),
    "result": lambda folder: folder.result(0),
    "tasks": lambda folder: folder.attempt(0) / "tasks",
}


def stands(asked: Asked, good: JobFolder) -> None:
    """A step of the monitor writes the end of the good job down, which is then listed with it."""
    done = asked.jobs.monitor()
    assert done.code == 0, done.err
    assert isinstance(read(good.journal).records[-1], Ended), done.err
    listed = asked.jobs.list()
    assert listed.code == 0, listed.err
    assert {"STOPPED"} == {line.state for line in listed.value if line.name == ME}
    assert asked.jobs.list().code == 0


@pytest.mark.parametrize("spoil", [pipe, endless, unclosed, folder_in_place])
@pytest.mark.parametrize("location", PLACES)
@pytest.mark.parametrize("name", [BAD, "stranger~bad"])
def test_a_bad_file_in_one_job_does_not_affect_others(
    good: JobFolder, asked: Asked, location: str, spoil: Callable[[Path], None], name: str
) -> None:
    bad = made(good.path.parent, name, user=name.partition("~")[0], job_id="7")
    spoil(PLACES[location](bad))
    stands(asked, good)


@pytest.mark.parametrize(
    "changes",
    [
        {"backend": "nonsense"},
        {"backend": "../../.."},
        {"job_id": "--user=root"},
        {"job_id": "99999999999999999999"},
        {"attempt": 1 << 52},
        {"roles": [{"name": "w", "folder": "0-w", "instances": 1 << 52}]},
        {"happened_at": -(1 << 52)},
        {"happened_at": 1 << 52},
        {"user": "\x1b[2J\n"},
        {"tag": "--all"},
    ],
)
def test_inconsistent_records_of_one_job_do_not_affect_others(
    good: JobFolder, asked: Asked, tmp_path: Path, changes: dict[str, Any]
) -> None:
    made(good.path.parent, BAD, **changes)
    stands(asked, good)
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert ("--user=root" in asked, "9999999999" in asked) == (False, False)


@given(
    changes=st.dictionaries(
        st.sampled_from([*json.loads(dump(CREATED)), *json.loads(dump(SUBMITTED)), "tag"]), anything
    )
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_records_of_one_job_do_not_affect_others(good: JobFolder, asked: Asked, changes: dict[str, Any]) -> None:
    for name in (BAD, "stranger~bad"):
        shutil.rmtree(good.path.parent / name, ignore_errors=True)
        made(good.path.parent, name, **changes)
    stands(asked, good)


def test_inconsistent_records_of_a_finished_job_do_not_affect_others(good: JobFolder, asked: Asked) -> None:
    for number, changes in enumerate(
        ({"state": "\x1b]0;x\x07"}, {"happened_at": 1 << 52}, {"ended_at": -(1 << 52)}, {"exit_code": 1 << 52})
    ):
        job_folder(good.path.parent, CREATED, INTENT, SUBMITTED, replace(ENDED, **changes), name=f"x~{number}")
    said = asked.jobs.list(everything=True)
    assert (said.code, "\x1b" in str(said.document)) == (0, False)
    for number in range(4):
        assert asked.jobs.status(f"x~{number}").code == 0


def test_lines_of_the_monitor_log_cannot_be_forged(good: JobFolder, asked: Asked) -> None:
    forged = "2026-01-01 00:00:00 forged"
    made(
        good.path.parent,
        f"x~{'y' * 9}",
        tag=f"a\n{forged}",
        backend=f"b\r\n{forged}",
        user=f"c\n{forged}",
    )
    made(good.path.parent, f"{user_name()}~a\n{forged}")
    done = asked.jobs.monitor()
    lines = [line for line in done.err.splitlines() if "forged" in line]
    assert (done.code, bool(lines), [line for line in lines if line.startswith(forged)]) == (0, True, [])
    leave_result(good, reason=f"x\n{forged}")
    assert forged not in asked.jobs.wait(ME).err.splitlines()

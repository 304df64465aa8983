"""`submit`: what is printed of a job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Created, Intent, Submitted

from ...app.submit.test_recording import WITH_PARAMETERS
from ...monitor.jobs import FakeBackend
from ..running import JOB, Runner, job_file

pytestmark = pytest.mark.usefixtures("slurm", "profile")


def test_status_shows_the_run_record_in_short(run: Runner, tmp_path: Path) -> None:
    file = job_file(tmp_path, WITH_PARAMETERS.replace("mnist", f'"\\e[2J{"m" * 100}"'))
    assert run("submit", file, "--set", "epochs=3").code == 0
    out = run("status", "demo").out
    assert re.search(r"^parameters +epochs=3 lr=0.1 data=", out, re.MULTILINE)
    assert ("…" in out, "\x1b" in out) == (True, False)
    assert re.search(rf"^command +paislurm submit {re.escape(file)} --set epochs=3$", out, re.MULTILINE)
    assert re.search(rf"^from +{user_name()}@", out, re.MULTILINE)
    assert json.loads(run("status", "demo", "--json").out)["run"]["parameters"]["epochs"] == "3"


@pytest.mark.parametrize("words", [("submit",), ("submit", "job.yaml", "--again", "demo")])
def test_a_job_file_and_again_exclude_each_other(run: Runner, words: tuple[str, ...]) -> None:
    assert run(*words).code == 2


def test_a_job_gets_a_folder_and_a_journal(run: Runner, job: str, slurm: FakeBackend, demo: JobFolder) -> None:
    said = run("submit", job)
    assert (said.code, said.out) == (0, f"{user_name()}~demo is job 101\n")
    assert "paislurm logs -f demo" in said.err
    (submission,) = slurm.submissions
    assert (submission.script, submission.folder) == (demo.script(0), demo.path)
    assert (submission.attempt, submission.log) == (0, demo.batch_log(0))
    created, intent, submitted = read(demo.journal).records
    assert isinstance(created, Created)
    assert isinstance(intent, Intent)
    assert isinstance(submitted, Submitted)
    assert (intent.tag, submitted.job_id) == (submission.tag, "101")
    assert (demo.path / "job.yaml").read_text(encoding="utf-8") == JOB
    assert isinstance(json.loads((demo.path / "plan.json").read_bytes()), dict)
    assert [(path.name, path.stat().st_mode & 0o777) for path in demo.path.parent.iterdir()] == [(demo.name, 0o700)]


def test_ctrl_c_during_submit_says_that_the_result_is_unknown(
    run: Runner, job: str, slurm: FakeBackend, demo: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "submit", Mock(side_effect=KeyboardInterrupt))
    run("submit", job).ends(130, "it is unknown whether it was submitted")
    assert demo.journal.exists()

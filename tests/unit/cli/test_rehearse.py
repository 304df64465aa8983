"""`rehearse`: its options and its exit code."""

from __future__ import annotations

from typing import get_args

import pytest

from paislurm.translator.app.rehearsal.provoking import TEXTS, Fault
from paislurm.translator.app.rehearsal.resuming import Rehearsal, Rehearsals, Resuming
from paislurm.translator.app.use_cases.job_uses import JobUses
from paislurm.translator.cli.commands.running.rehearse import FAULTS

from .running import Runner


def test_the_command_knows_each_fault() -> None:
    assert get_args(Fault) == FAULTS == tuple(TEXTS)


@pytest.mark.parametrize(("verdict", "code"), [("continued", 0), ("began again", 1), ("not retried", 1)])
def test_the_exit_code_tells_whether_each_job_continued(
    run: Runner, monkeypatch: pytest.MonkeyPatch, verdict: str, code: int
) -> None:
    def rehearse(*_: object, **__: object) -> Rehearsals:
        found = Resuming(verdict=verdict, shown_by="its log")  # type: ignore[arg-type]
        one = Rehearsal(fault="kill", first_end="137", retry_rule=None, resuming=found, remark=None)
        return Rehearsals(rehearsals=(one,))

    monkeypatch.setattr(JobUses, "rehearse", rehearse)
    assert run("rehearse", "job.yaml").code == code

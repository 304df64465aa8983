"""Jobs on Slurm, against recorded conversations: how they are asked for, found, and left."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.errors import UnreachableError

from ..recording import Recording, Replay, read, submission

NOTHING = Completed(status=0, stdout="", stderr="")


def replay(case: str) -> tuple[SlurmBackend, JobId, list[Recording]]:
    """Submit as recorded; return the backend, the job's id and what was said after that."""
    submit, *rest = read(case)
    job_id = SlurmBackend(Replay([submit])).submit(submission(case))
    return SlurmBackend(Replay(rest)), job_id, rest


def observe(case: str) -> Observation:
    backend, job_id, rest = replay(case)
    if rest[0].argv[0] == "scancel":
        backend.cancel(job_id)
    return backend.observe([job_id])[job_id]


ENDED = {
    "completed": ("COMPLETED", "COMPLETED", 0, 0, "n1"),
    "het_failed": ("FAILED", "FAILED", 3, 0, "n1,n2,n3"),
    "cancelled_by_root": ("CANCELLED", "CANCELLED by 0", 0, 0, "n1,n2,n3"),
    "cancelled_by_user": ("CANCELLED", "CANCELLED by 21001", 0, 0, "n1,n2,n3"),
    "cancelled_while_pending": ("CANCELLED", "CANCELLED by 21001", 0, 0, ""),
    "het_cancelled_while_pending": ("CANCELLED", "CANCELLED by 21001", 0, 0, ""),
    "node_failed": ("NODE_FAIL", "NODE_FAIL", 0, 0, "n1,n2,n3"),
    "out_of_memory": ("OUT_OF_MEMORY", "OUT_OF_MEMORY", 0, 125, "n1"),
    "timeout": ("TIMEOUT", "TIMEOUT", 0, 0, "n1,n2,n3"),
}


@pytest.mark.parametrize("case", sorted(ENDED))
def test_endings(case: str) -> None:
    seen = observe(case)
    assert (seen.state, seen.raw_state, seen.status, seen.signal, seen.nodes) == ENDED[case]
    assert seen.final
    assert seen.submitted is not None
    assert seen.ended is not None
    assert (seen.started is None) == (not seen.nodes)
    assert seen.submitted <= (seen.started or seen.submitted) <= seen.ended


def test_a_running_job() -> None:
    seen = observe("het_running")
    assert (seen.state, seen.final, seen.nodes) == ("RUNNING", False, "n1,n2,n3")
    assert (seen.status, seen.signal, seen.ended) == (None, None, None)
    assert seen.started is not None


def test_a_pending_job_says_why() -> None:
    seen = observe("pending")
    assert (seen.state, seen.final, seen.reason, seen.nodes) == ("PENDING", False, "Resources", "")
    assert seen.started is None
    assert seen.submitted is not None


def test_accounts_that_lag_are_not_final() -> None:
    seen = observe("het_just_ended")
    assert (seen.state, seen.final) == ("FAILED", False)


def test_a_database_that_is_away_is_one_that_lags() -> None:
    seen = observe("database_away")
    assert (seen.state, seen.final) == ("COMPLETED", False)


def test_a_database_that_is_away_is_an_outage_for_a_job_that_only_it_knows() -> None:
    squeue, sacct = read("database_away")[1:]
    forgotten = replace(squeue, completed=NOTHING)
    with pytest.raises(UnreachableError, match="Problem talking to the database"):
        SlurmBackend(Replay([forgotten, sacct])).observe([_id_of(squeue)])


def test_without_accounting_the_queue_has_the_last_word() -> None:
    squeue, sacct = read("database_away")[1:]
    disabled = Completed(status=1, stdout="", stderr="Slurm accounting storage is disabled\n")
    job_id = _id_of(squeue)
    seen = SlurmBackend(Replay([squeue, replace(sacct, completed=disabled)])).observe([job_id])[job_id]
    assert (seen.state, seen.final, seen.status) == ("COMPLETED", True, None)


def test_the_accounts_are_believed_when_the_controller_has_forgotten() -> None:
    squeue, sacct = read("het_failed")[1:]
    forgotten = replace(
        squeue,
        completed=Completed(status=1, stdout="", stderr="slurm_load_jobs error: Invalid job id specified\n"),
    )
    job_id = _id_of(squeue)
    seen = SlurmBackend(Replay([forgotten, sacct])).observe([job_id])[job_id]
    assert (seen.state, seen.status, seen.final) == ("FAILED", 3, True)


def test_the_script_says_how_many_components_to_expect() -> None:
    squeue, sacct = read("het_just_ended")[1:]
    job_id = _id_of(squeue)
    forgotten = replace(squeue, completed=NOTHING)
    backend = SlurmBackend(Replay([forgotten, sacct]), components=lambda _: 3)
    assert not backend.observe([job_id])[job_id].final
    backend = SlurmBackend(Replay([squeue, sacct]), components=lambda _: pytest.fail("the queue tells"))
    assert not backend.observe([job_id])[job_id].final


def test_unknown_jobs_are_not_in_the_answer_and_can_be_cancelled() -> None:
    backend = SlurmBackend(Replay(read("unknown_job")))
    assert backend.observe([JobId("9999999")]) == {}
    backend.cancel(JobId("9999999"))


def test_no_jobs_cost_no_query() -> None:
    assert SlurmBackend(Replay([])).observe([]) == {}


def test_one_query_serves_many_jobs() -> None:
    ids = [JobId(str(number)) for number in range(1, 501)]
    asked = Recording(tuple(commands.squeue(ids)), Completed(status=0, stdout=_running(ids), stderr=""))
    seen = SlurmBackend(Replay([asked])).observe(ids)
    assert set(seen) == set(ids)


def test_very_many_jobs_take_one_question() -> None:
    ids = sorted(JobId(str(number)) for number in range(1, 10_001))
    others = [JobId("77777")]
    asked = [Recording(tuple(commands.squeue_all()), Completed(status=0, stdout=_running(ids + others), stderr=""))]
    assert set(SlurmBackend(Replay(asked)).observe(ids)) == set(ids)


def test_of_very_many_that_ended_the_accounts_are_asked_in_turns() -> None:
    ids = sorted(JobId(str(number)) for number in range(1, 1201))
    ended = "JobID|JobIDRaw|State|ExitCode|Submit|Start|End|NodeList|Reason\n{}\n"
    rows = ["\n".join(f"{k}|{k}|COMPLETED|0:0|1|2|3|n1|None" for k in ids[n : n + 500]) for n in (0, 500, 1000)]
    asked = [Recording(tuple(commands.squeue_all()), Completed(status=0, stdout="", stderr=""))] + [
        Recording(
            tuple(commands.sacct(ids[n : n + 500])),
            Completed(status=0, stdout=ended.format(text), stderr=""),
        )
        for n, text in zip((0, 500, 1000), rows, strict=True)
    ]
    seen = SlurmBackend(Replay(asked)).observe(ids)
    assert len(seen) == 1200
    assert all(one.final for one in seen.values())


def test_lost_nodes_are_those_that_are_down_or_do_not_respond() -> None:
    asked = Recording(
        ("sinfo", "--noheader", "--Node", "--nodes=n[1-3]", "--format=%N %T %E"),
        Completed(
            status=0,
            stdout="n1 idle none\nn2 mixed* none\nn3 down* Not responding\nn3 down* Not responding\n"
            "n4 draining Prolog error\nn5 allocated+ none\n",
            stderr="",
        ),
    )
    lost = {"n2": "", "n3": "Not responding", "n4": "Prolog error"}
    assert SlurmBackend(Replay([asked])).unavailable_nodes("n[1-3]") == lost


@pytest.mark.parametrize(
    ("script", "option"),
    [
        ("#SBATCH -N1\n", "--exclude=n3,n4"),
        ("#SBATCH --exclude=n[1-2]\n#SBATCH hetjob\n#SBATCH --exclude=n3\n", "--exclude=n[1-2],n3,n4"),
    ],
)
def test_nodes_that_failed_are_left_out_beside_the_jobs_own(tmp_path: Path, script: str, option: str) -> None:
    file = tmp_path / "job.sbatch"
    file.write_text(f"#!/bin/bash\n{script}true\n")
    submission = Submission(script=file, folder=tmp_path, attempt=1, tag="t.1", log=tmp_path / "log")
    assert not any("--exclude" in word for word in commands.sbatch(submission))
    assert option in commands.sbatch(replace(submission, exclude=("n3", "n4")))


def _running(ids: list[JobId]) -> str:
    return "".join(f"{job_id}|{job_id}|RUNNING|1|2|3|n1|None\n" for job_id in ids)


def _id_of(squeue: Recording) -> JobId:
    found = re.search(r"--jobs=(\d+)", " ".join(squeue.argv))
    assert found
    return JobId(found[1])


def test_a_tag_is_found_in_the_queue() -> None:
    backend = SlurmBackend(Replay(read("found_by_tag")))
    found = backend.find("tag-found_by_tag")
    assert found is not None
    assert found.isdigit()


def test_a_tag_is_found_in_the_accounts() -> None:
    queue = Recording(tuple(commands.squeue_tags()), NOTHING)
    accounts = read("found_by_tag_in_accounts")
    assert SlurmBackend(Replay([queue, *accounts])).find("tag-found_by_tag_in_accounts") is not None
    assert SlurmBackend(Replay([queue, *accounts])).find("tag-nobody-has") is None


def test_before_21_08_a_tag_is_found_by_its_comment() -> None:
    queue = Recording(tuple(commands.squeue_tags()), NOTHING)
    refused = Completed(status=1, stdout="", stderr='sacct: error: Invalid field requested: "SubmitLine"\n')
    newer = Recording(tuple(commands.sacct_tags(30)), refused)
    answer = Completed(status=0, stdout="JobID|Comment\n12+0|my-tag\n12+1|my-tag\n", stderr="")
    older = Recording(tuple(commands.sacct_tags(30, submit_line=False)), answer)
    assert SlurmBackend(Replay([queue, newer, older])).find("my-tag") == "12"

"""The Slurm backend against recorded conversations."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from paislurm.backends import slurm_commands
from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import SlurmBackend
from paislurm.translator.errors import RejectedError, UnreachableError
from paislurm.translator.monitoring.attempt import NEVER_SENT

from .recording import Recording, Replay, read

NOTHING = Completed(status=0, stdout="", stderr="")


def submission(case: str) -> Submission:
    folder = Path("/home/alice/recording") / case
    return Submission(
        script=folder / "job.sbatch", folder=folder, attempt=0, tag=f"tag-{case}", log=folder / "slurm.log"
    )


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
    asked = Recording(tuple(slurm_commands.squeue(ids)), Completed(status=0, stdout=_running(ids), stderr=""))
    seen = SlurmBackend(Replay([asked])).observe(ids)
    assert set(seen) == set(ids)


def test_very_many_jobs_take_one_question() -> None:
    ids = sorted(JobId(str(number)) for number in range(1, 10_001))
    others = [JobId("77777")]
    asked = [
        Recording(tuple(slurm_commands.squeue_all()), Completed(status=0, stdout=_running(ids + others), stderr=""))
    ]
    assert set(SlurmBackend(Replay(asked)).observe(ids)) == set(ids)


def test_of_very_many_that_ended_the_accounts_are_asked_in_turns() -> None:
    ids = sorted(JobId(str(number)) for number in range(1, 1201))
    ended = "JobID|JobIDRaw|State|ExitCode|Submit|Start|End|NodeList|Reason\n{}\n"
    rows = ["\n".join(f"{k}|{k}|COMPLETED|0:0|1|2|3|n1|None" for k in ids[n : n + 500]) for n in (0, 500, 1000)]
    asked = [Recording(tuple(slurm_commands.squeue_all()), Completed(status=0, stdout="", stderr=""))] + [
        Recording(
            tuple(slurm_commands.sacct(ids[n : n + 500])),
            Completed(status=0, stdout=ended.format(text), stderr=""),
        )
        for n, text in zip((0, 500, 1000), rows, strict=True)
    ]
    seen = SlurmBackend(Replay(asked)).observe(ids)
    assert len(seen) == 1200
    assert all(one.final for one in seen.values())


def test_lost_nodes_are_those_that_are_down_or_do_not_respond() -> None:
    asked = Recording(
        ("sinfo", "--noheader", "--Node", "--nodes=n[1-3]", "--format=%N %T"),
        Completed(status=0, stdout="n1 idle\nn2 mixed*\nn3 down*\nn3 down*\nn4 draining\nn5 allocated+\n", stderr=""),
    )
    assert SlurmBackend(Replay([asked])).lost_nodes("n[1-3]") == ["n2", "n3", "n4"]


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
    assert not any("--exclude" in word for word in slurm_commands.sbatch(submission))
    assert option in slurm_commands.sbatch(replace(submission, exclude=("n3", "n4")))


def _running(ids: list[JobId]) -> str:
    return "".join(f"{job_id}|{job_id}|RUNNING|1|2|3|n1|None\n" for job_id in ids)


def _id_of(squeue: Recording) -> JobId:
    found = re.search(r"--jobs=(\d+)", " ".join(squeue.argv))
    assert found
    return JobId(found[1])


REFUSALS = {
    "account": ("--account", "Invalid account or account/partition combination"),
    "constraint": ("--constraint", "Invalid feature specification"),
    "cpus": ("--cpus-per-task", "CPU count per node can not be satisfied"),
    "gres": ("--gres", "Invalid generic resource (gres) specification"),
    "gres_count": (
        "--nodes or --cpus-per-task or --mem or --gres",
        "Requested node configuration is not available",
    ),
    "license": ("--licenses", "Invalid license specification"),
    "memory": ("--mem", "Memory specification can not be satisfied"),
    "nodelist": ("--nodelist or --exclude", "Invalid node name specified"),
    "nodes_word": ("--nodes", '"many" is not a valid node count'),
    "option": ("--no-such-option", "unrecognized option '--no-such-option=1'"),
    "partition": ("--partition", "invalid partition specified: nosuch"),
    "qos": ("--qos", "Invalid qos specification"),
    "reservation": ("--reservation", "Requested reservation is invalid"),
    "time_word": ("--time", "Invalid --time specification"),
}


@pytest.mark.parametrize("case", sorted(REFUSALS))
def test_refusals_name_the_option_in_slurms_words(case: str) -> None:
    option, words = REFUSALS[case]
    name = f"refused_{case}"
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(Replay(read(name))).submit(submission(name))
    assert f"sbatch refuses {option}: " in caught.value.faults[0].message
    assert words in caught.value.faults[0].message
    assert caught.value.argv == tuple(slurm_commands.sbatch(submission(name)))
    assert caught.value.status
    assert words in caught.value.stderr


def test_every_recorded_refusal_is_tested() -> None:
    folder = Path(__file__).parents[2] / "slurm_output" / "22.05"
    assert {f"refused_{case}" for case in REFUSALS} == {path.stem for path in folder.glob("refused_*")}


def test_a_controller_that_is_away_is_no_refusal() -> None:
    backend = SlurmBackend(Replay(read("controller_away")))
    with pytest.raises(UnreachableError, match="nothing was submitted") as caught:
        backend.submit(submission("controller_away"))
    assert caught.value.faults[0].code in NEVER_SENT
    with pytest.raises(UnreachableError, match="connect failure"):
        backend.observe([JobId("1")])
    with pytest.raises(UnreachableError, match="connect failure"):
        backend.cancel(JobId("1"))


def test_a_machine_without_a_cluster_has_submitted_nothing() -> None:
    wanted = submission("x")
    said = "sbatch: error: fetch_config: failed\nsbatch: fatal: Could not establish a configuration source\n"
    answer = Recording(tuple(slurm_commands.sbatch(wanted)), Completed(status=1, stdout="", stderr=said))
    with pytest.raises(UnreachableError, match="Slurm is not set up on this machine") as caught:
        SlurmBackend(Replay([answer])).submit(wanted)
    assert caught.value.faults[0].code in NEVER_SENT


@pytest.mark.parametrize(
    "stderr",
    [
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)\n",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n",
        "sbatch: error: Batch job submission failed: Protocol authentication error\n",
        "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n",
    ],
)
def test_no_answer_is_never_called_a_refusal(stderr: str) -> None:
    wanted = submission("x")
    answer = Recording(tuple(slurm_commands.sbatch(wanted)), Completed(status=1, stdout="", stderr=stderr))
    with pytest.raises(UnreachableError, match="may have taken the job all the same") as caught:
        SlurmBackend(Replay([answer])).submit(wanted)
    assert caught.value.faults[0].code not in NEVER_SENT


def test_a_refusal_that_is_not_in_the_table_is_told_as_it_is() -> None:
    wanted = submission("x")
    said = Completed(status=1, stdout="", stderr="sbatch: error: Something\nsbatch: error: entirely new\n")
    with pytest.raises(RejectedError, match="sbatch refuses: Something; entirely new"):
        SlurmBackend(Replay([Recording(tuple(slurm_commands.sbatch(wanted)), said)])).submit(wanted)


def test_an_answer_without_a_job_id_is_no_answer() -> None:
    wanted = submission("x")
    said = Completed(status=0, stdout="welcome\n", stderr="")
    with pytest.raises(UnreachableError, match="printed no job id: welcome"):
        SlurmBackend(Replay([Recording(tuple(slurm_commands.sbatch(wanted)), said)])).submit(wanted)


def test_a_tag_is_found_in_the_queue() -> None:
    backend = SlurmBackend(Replay(read("found_by_tag")))
    found = backend.find("tag-found_by_tag")
    assert found is not None
    assert found.isdigit()


def test_a_tag_is_found_in_the_accounts() -> None:
    queue = Recording(tuple(slurm_commands.squeue_tags()), NOTHING)
    accounts = read("found_by_tag_in_accounts")
    assert SlurmBackend(Replay([queue, *accounts])).find("tag-found_by_tag_in_accounts") is not None
    assert SlurmBackend(Replay([queue, *accounts])).find("tag-nobody-has") is None


def test_before_21_08_a_tag_is_found_by_its_comment() -> None:
    queue = Recording(tuple(slurm_commands.squeue_tags()), NOTHING)
    refused = Completed(status=1, stdout="", stderr='sacct: error: Invalid field requested: "SubmitLine"\n')
    newer = Recording(tuple(slurm_commands.sacct_tags(30)), refused)
    answer = Completed(status=0, stdout="JobID|Comment\n12+0|my-tag\n12+1|my-tag\n", stderr="")
    older = Recording(tuple(slurm_commands.sacct_tags(30, submit_line=False)), answer)
    assert SlurmBackend(Replay([queue, newer, older])).find("my-tag") == "12"

"""Jobs on Slurm, against recorded conversations: how they are asked for, found, and left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.runner import Completed, LocalRunner, forbidden
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.job_states import FORGOTTEN
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.errors import BackendError, RejectedError, ThrottledError, UnreachableError

from ..recording import Recording, Replay, Says, read, submission

NOTHING = Completed(status=0, stdout="", stderr="")


def replay(case: str) -> tuple[SlurmBackend, JobId, list[Recording]]:
    """Submit as recorded; return the backend, the job's id and what was said after that."""
    submit, *rest = read(case)
    job_id = SlurmBackend(Replay([submit])).submit(submission(case)).job_id
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
def test_final_states_are_observed(case: str) -> None:
    found = observe(case)
    assert (found.state, found.raw_state, found.status, found.signal, found.nodes) == ENDED[case]
    assert (found.final, found.started is None) == (True, not found.nodes)
    assert found.submitted is not None
    assert found.ended is not None
    assert found.submitted <= (found.started or found.submitted) <= found.ended


def test_a_running_job() -> None:
    found = observe("het_running")
    assert (found.state, found.final, found.nodes) == ("RUNNING", False, "n1,n2,n3")
    assert (found.status, found.signal, found.ended, found.started is None) == (None, None, None, False)


def test_a_pending_job_has_a_reason() -> None:
    found = observe("pending")
    assert (found.state, found.final, found.reason, found.nodes) == ("PENDING", False, "Resources", "")
    assert (found.started is None, found.submitted is None) == (True, False)
    assert found.options == {"partition": "normal", "account": "research", "time": "01:00:00"}


@pytest.mark.parametrize(("case", "state"), [("het_just_ended", "FAILED"), ("database_away", "COMPLETED")])
def test_lagging_accounting_data_is_not_final(case: str, state: str) -> None:
    """A database that cannot be reached counts as one that lags."""
    found = observe(case)
    assert (found.state, found.final) == (state, False)


def _id_of(squeue: Recording) -> JobId:
    found = re.search(r"--jobs=(\d+)", " ".join(squeue.argv))
    assert found
    return JobId(found[1])


def said(asked: Recording, stderr: str = "", *, stdout: str = "") -> Recording:
    """Return a question with another answer, which is an error if there is one."""
    return replace(asked, completed=Completed(status=int(bool(stderr)), stdout=stdout, stderr=stderr))


def seen(squeue: Recording, *others: Recording) -> Observation:
    """Return what becomes of the answers about a job."""
    job_id = _id_of(squeue)
    return SlurmBackend(Replay([squeue, *others])).observe([job_id])[job_id]


INVALID = "slurm_load_jobs error: Invalid job id specified\n"
DISABLED = "Slurm accounting storage is disabled\n"
DENIED = "sacct: error: Access/permission denied\n"


def test_an_unreachable_database_is_an_outage_for_a_purged_job() -> None:
    squeue, sacct = read("database_away")[1:]
    with pytest.raises(UnreachableError, match="Problem talking to the database"):
        seen(said(squeue), sacct)


def test_without_accounting_the_queue_decides() -> None:
    squeue, sacct = read("database_away")[1:]
    found = seen(squeue, said(sacct, DISABLED))
    assert (found.state, found.final, found.status) == ("COMPLETED", True, None)


@pytest.mark.parametrize("error", [DISABLED, DENIED])
def test_a_job_unknown_to_queue_and_accounting_is_lost(error: str) -> None:
    squeue, sacct = read("database_away")[1:]
    found = seen(said(squeue, INVALID), said(sacct, error))
    assert (found.state, found.final) == (FORGOTTEN, True)


def test_without_accounting_the_controller_gives_the_exit_status() -> None:
    squeue, sacct = read("database_away")[1:]
    queued = said(squeue, stdout=squeue.completed.stdout.replace("COMPLETED", "FAILED"))
    line = f"JobId={_id_of(squeue)} JobState=FAILED Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=6:0 RunTime=0\n"
    shown = said(Recording(tuple(commands.scontrol_show_job(_id_of(squeue))), NOTHING), stdout=line)
    found = seen(queued, said(sacct, DENIED), shown)
    assert (found.state, found.status, found.signal, found.final) == ("FAILED", 6, 0, True)


class Forbidden:
    """A runner on a site whose users may not call sacct."""

    def __init__(self, squeue: Completed) -> None:
        self._squeue = squeue

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        if argv[0] == "sacct":
            raise forbidden(argv)
        return self._squeue


def test_if_sacct_is_forbidden_the_queue_decides() -> None:
    squeue = read("database_away")[1]
    backend = SlurmBackend(Forbidden(squeue.completed))
    job_id = _id_of(squeue)
    assert backend.observe([job_id])[job_id].final
    assert backend.find(["paislurm-none"]) == {}


def test_a_forbidden_program_raises_a_specific_error(tmp_path: Path) -> None:
    program = tmp_path / "sacct"
    program.touch(mode=0o600)
    with pytest.raises(UnreachableError) as caught:
        LocalRunner().run([str(program)], timeout=10)
    assert caught.value.diagnostics[0].code == "E501"
    assert "permission denied" in caught.value.diagnostics[0].message


class Clusters:
    """Two clusters, each with a job 7 of its own: that of `far` runs, the other waits."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        self.asked.append(list(argv))
        far = "--clusters=far" in argv
        if "--format=%i|%t|%k|%o" in argv:
            return Completed(
                status=0, stdout="CLUSTER: far\n7|PD|paislurm-1@far.1|\n" if far else "7|PD|paislurm-2|\n", stderr=""
            )
        state = "RUNNING" if far else "PENDING"
        return Completed(
            status=0, stdout=f"{'CLUSTER: far' if far else ''}\n7|7|{state}|1|1|1|n1||||||None\n", stderr=""
        )


def test_each_cluster_is_queried_for_its_own_jobs() -> None:
    runner = Clusters()
    backend = SlurmBackend(runner)
    near, far = JobId("7"), JobId("7;far")
    assert {job_id: seen.state for job_id, seen in backend.observe([near, far]).items()} == {
        near: "PENDING",
        far: "RUNNING",
    }
    assert all(("--local" in argv) != ("--clusters=far" in argv) for argv in runner.asked)
    assert backend.find(["paislurm-1@far.1", "paislurm-2"]) == {"paislurm-1@far.1": far, "paislurm-2": near}
    backend.cancel(far)
    assert runner.asked[-1] == ["scancel", "--clusters=far", "7"]
    with pytest.raises(RejectedError, match="runs on cluster far"):
        backend.attach(["true"], far, terminal=False)


def test_jobs_are_cancelled_with_one_call_per_cluster() -> None:
    runner = Says()
    SlurmBackend(runner).cancel(JobId("7"), JobId("8;far"), JobId("9"))
    assert runner.asked == [["scancel", "7", "9"], ["scancel", "--clusters=far", "8"]]


def test_only_a_job_with_the_shown_name_is_cancelled() -> None:
    """Another job may get the number before scancel reaches the controller."""
    runner, names = Says(), {JobId("7"): "x-a", JobId("8"): "x-b", JobId("9"): "x-a"}
    SlurmBackend(runner).cancel(*names, JobId("10"), names=names)
    assert runner.asked == [["scancel", "--name=x-a", "7", "9"], ["scancel", "--name=x-b", "8"], ["scancel", "10"]]
    many = {JobId(str(number)): f"name-{number}" for number in range(20)}
    runner = Says()
    SlurmBackend(runner).cancel(*many, names=many)
    assert runner.asked == [["scancel", *many]]
    ended = "scancel: error: Kill job error on job id 7: Invalid job id specified\n"
    SlurmBackend(Says(ended * 2)).cancel(*names, names=names)


def test_a_refused_cancellation_among_several_raises_an_error() -> None:
    completing = "scancel: error: Kill job error on job id 7: Job/step already completing or completed\n"
    SlurmBackend(Says(completing)).cancel(JobId("7"), JobId("8"))
    refused = completing + "scancel: error: Kill job error on job id 8: Access/permission denied\n"
    with pytest.raises(BackendError):
        SlurmBackend(Says(refused)).cancel(JobId("7"), JobId("8"))


def test_accounting_decides_for_jobs_purged_by_the_controller() -> None:
    squeue, sacct = read("het_failed")[1:]
    found = seen(said(squeue, INVALID), sacct)
    assert (found.state, found.status, found.final) == ("FAILED", 3, True)


def test_the_script_defines_the_expected_number_of_components() -> None:
    squeue, sacct = read("het_just_ended")[1:]
    job_id = _id_of(squeue)
    backend = SlurmBackend(Replay([said(squeue), sacct]), components=lambda _: 3)
    assert not backend.observe([job_id])[job_id].final
    backend = SlurmBackend(Replay([squeue, sacct]), components=lambda _: pytest.fail("the queue tells"))
    assert not backend.observe([job_id])[job_id].final


def test_unknown_jobs_are_not_in_the_answer_and_can_be_cancelled() -> None:
    backend = SlurmBackend(Replay(read("unknown_job")))
    assert backend.observe([JobId("9999999")]) == {}
    backend.cancel(JobId("9999999"))


def test_no_jobs_cost_no_query() -> None:
    assert SlurmBackend(Replay([])).observe([]) == {}


def test_several_jobs_are_queried_as_all_jobs_of_the_user() -> None:
    """A list of numbers would make the controller send all jobs of all users; others of the user are passed over."""
    ids = sorted(JobId(str(number)) for number in range(1, 10_001))
    assert commands.squeue(ids[:1])[3] == "--jobs=1"
    assert commands.squeue(ids) == commands.squeue(ids[:2])
    assert commands.squeue(ids)[3] == "--me"
    asked = [
        Recording(tuple(commands.squeue(ids)), Completed(status=0, stdout=_running([*ids, JobId("77777")]), stderr=""))
    ]
    assert set(SlurmBackend(Replay(asked)).observe(ids)) == set(ids)


def test_other_clusters_are_queried_only_for_federation_jobs() -> None:
    """Else the controller is asked once more, each time, which clusters form one."""
    last, first = JobId(str((1 << 26) - 1)), JobId(str(1 << 26))
    assert all("--local" in commands.squeue(ids) for ids in ([last], [JobId("1"), last]))
    assert not any("--local" in commands.squeue(ids) for ids in ([first], [JobId("1"), first]))


THROTTLED = (
    Completed(status=1, stdout="", stderr="slurm_load_jobs error: Rate limit exceeded, please retry momentarily\n"),
    Completed(status=1, stdout="", stderr="slurm_load_jobs error: Rate limit exceeded, please retry later\n"),
    Completed(status=1, stdout="", stderr="squeue: error: RPC limit exceeded\n"),
    Completed(status=0, stdout="", stderr="squeue of this site: slow down, you call it too often\n"),
)


@pytest.mark.parametrize("answer", THROTTLED)
def test_a_rate_limited_query_returns_no_job_states(answer: Completed) -> None:
    """Neither by the queue, nor by the accounts of jobs that the queue knows or does not know."""
    ids = [JobId("1"), JobId("2")]
    queue = tuple(commands.squeue(ids))
    ended = Completed(status=0, stdout="1|1|COMPLETED|1|2|3|n1||||||None\n", stderr="")
    accounts = Recording(tuple(commands.sacct(ids)), answer)
    for recordings in (
        [Recording(queue, answer)],
        [Recording(queue, NOTHING), accounts],
        [Recording(queue, ended), accounts],
    ):
        with pytest.raises(ThrottledError, match="limits the rate of requests") as caught:
            SlurmBackend(Replay(recordings)).observe(ids)
        assert caught.value.diagnostics[0].code == "E507"
    with pytest.raises(ThrottledError):
        SlurmBackend(Replay([Recording(tuple(commands.squeue_tags()), answer)])).find(["tag"])


def test_a_rate_limited_sbatch_raises_throttled_error() -> None:
    words = "sbatch: error: Batch job submission failed: Rate limit exceeded, please retry later\n"
    error = failure(["sbatch"], Completed(status=1, stdout="", stderr=words))
    assert isinstance(error, ThrottledError)
    assert error.diagnostics[0].hint == "try again later: nothing was submitted"


def test_a_site_message_is_not_read_as_a_rate_limit() -> None:
    words = (
        "sbatch: error: slow down: 10 jobs are enough\nsbatch: error: Batch job submission failed: Unspecified error\n"
    )
    assert isinstance(failure(["sbatch"], Completed(status=1, stdout="", stderr=words)), RejectedError)


def test_accounting_of_many_finished_jobs_is_queried_in_batches() -> None:
    ids = sorted(JobId(str(number)) for number in range(1, 1201))
    ended = "JobID|JobName|State|ExitCode|Submit|Start|End|NodeList|Comment|Reason\n{}\n"
    rows = ["\n".join(f"{k}|{k}|COMPLETED|0:0|1|2|3|n1||None" for k in ids[n : n + 500]) for n in (0, 500, 1000)]
    asked = [Recording(tuple(commands.squeue(ids)), Completed(status=0, stdout="", stderr=""))] + [
        Recording(
            tuple(commands.sacct(ids[n : n + 500])),
            Completed(status=0, stdout=ended.format(text), stderr=""),
        )
        for n, text in zip((0, 500, 1000), rows, strict=True)
    ]
    seen = SlurmBackend(Replay(asked)).observe(ids)
    assert len(seen) == 1200
    assert all(one.final for one in seen.values())


def test_lost_nodes_are_down_or_not_responding() -> None:
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
def test_failed_nodes_are_added_to_the_exclusions_of_the_job(tmp_path: Path, script: str, option: str) -> None:
    file = tmp_path / "job.sbatch"
    file.write_text(f"#!/bin/bash\n{script}true\n")
    submission = Submission(script=file, folder=tmp_path, job="job", attempt=1, tag="t.1", log=tmp_path / "log")
    assert not any("--exclude" in word for word in commands.sbatch(submission))
    assert option in commands.sbatch(replace(submission, exclude=("n3", "n4")))


def test_a_delayed_attempt_gets_a_begin_time(tmp_path: Path) -> None:
    submission = Submission(
        script=tmp_path / "s", folder=tmp_path, job="job", attempt=1, tag="t.1", log=tmp_path / "log"
    )
    assert not any("--begin" in word for word in commands.sbatch(submission))
    assert "--begin=now+40" in commands.sbatch(replace(submission, delay=40))


def _running(ids: list[JobId]) -> str:
    return "".join(f"{job_id}|{job_id}|RUNNING|1|2|3|n1||||||None\n" for job_id in ids)


def test_a_tag_is_found_in_the_queue() -> None:
    backend = SlurmBackend(Replay(read("found_by_tag")))
    assert backend.find(["tag-found_by_tag"])["tag-found_by_tag"].isdigit()


def test_a_tag_is_found_in_the_accounts() -> None:
    queue = Recording(tuple(commands.squeue_tags()), NOTHING)
    accounts = read("found_by_tag_in_accounts")
    assert SlurmBackend(Replay([queue, *accounts])).find(["tag-found_by_tag_in_accounts"])
    assert SlurmBackend(Replay([queue, *accounts])).find(["tag-nobody-has"]) == {}


def test_before_21_08_a_tag_is_found_in_the_comment() -> None:
    queue = Recording(tuple(commands.squeue_tags()), NOTHING)
    refused = Completed(status=1, stdout="", stderr='sacct: error: Invalid field requested: "SubmitLine"\n')
    newer = Recording(tuple(commands.sacct_tags(30)), refused)
    answer = Completed(status=0, stdout="JobID|Comment\n12+0|my-tag\n12+1|my-tag\n", stderr="")
    older = Recording(tuple(commands.without_submit_line(newer.argv)), answer)
    assert SlurmBackend(Replay([queue, newer, older])).find(["my-tag"]) == {"my-tag": "12"}


def test_many_tags_need_one_squeue_and_one_sacct_call() -> None:
    queue = Recording(
        tuple(commands.squeue_tags()), Completed(status=0, stdout="7+0|R|a|\n7+1|R|a|\n8|R|other|\n", stderr="")
    )
    answer = "JobID|Comment|SubmitLine\n9||sbatch job.sbatch folder 0 b\n"
    accounts = Recording(tuple(commands.sacct_tags(30)), Completed(status=0, stdout=answer, stderr=""))
    assert SlurmBackend(Replay([queue, accounts])).find(["a", "b", "c"]) == {"a": "7", "b": "9"}
    assert SlurmBackend(Replay([queue])).find(["a"]) == {"a": "7"}

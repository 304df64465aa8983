"""The local backend, for real: scripts of every kind run on this machine."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.local import LocalBackend
from paislurm.backends.standins import processes, records
from paislurm.translator.errors import NotFoundError, RejectedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 30.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.01)


class Runs:
    """A local backend in a folder of its own, and what its scripts print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.backend = LocalBackend(self.home)
        self.jobs: list[JobId] = []

    def submit(self, commands: str, directives: str = "", tag: str = "tag") -> JobId:
        work = self.folder / f"job-{len(self.jobs)}"
        work.mkdir()
        script = work / "job.sbatch"
        script.write_text(f"#!/usr/bin/env bash\n{directives}{commands}\n", encoding="utf-8")
        submission = Submission(script=script, folder=work, attempt=0, tag=tag, log=work / "slurm.log")
        job_id = self.backend.submit(submission)
        self.jobs.append(job_id)
        return job_id

    def observe(self, job_id: JobId) -> Observation:
        return self.backend.observe([job_id])[job_id]

    def end(self, job_id: JobId) -> Observation:
        wait_until(lambda: self.observe(job_id).final, "the end of the job")
        return self.observe(job_id)

    def work(self, job_id: JobId) -> Path:
        return self.folder / f"job-{self.jobs.index(job_id)}"

    def log(self, job_id: JobId) -> list[str]:
        """Return the lines of the log but for what bash says of a child that was ended by a signal."""
        lines = (self.work(job_id) / "slurm.log").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if "Terminated" not in line]

    def run(self, commands: str, directives: str = "") -> list[str]:
        """Return what the script printed; it must succeed."""
        job_id = self.submit(commands, directives)
        ended = self.end(job_id)
        assert ended.state == "COMPLETED", (ended, self.log(job_id))
        return self.log(job_id)

    def marks(self, job_id: JobId) -> processes.Marks:
        return processes.Marks(self.home / "local" / job_id)

    def wait_for_nothing(self, job_id: JobId) -> None:
        """Wait until no process is left; the supervisor itself is there for a moment longer than the job."""
        wait_until(lambda: not processes.members(self.marks(job_id)), "the end of all processes")

    def wait_for_line(self, job_id: JobId, line: str) -> None:
        wait_until(lambda: line in self.log(job_id), f"'{line}'")


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    for job_id in runs.jobs:
        if not runs.observe(job_id).final:
            runs.backend.cancel(job_id)
            processes.kill_all(runs.marks(job_id))
            runs.end(job_id)


def test_a_script_gets_its_arguments_and_slurms_variables(runs: Runs) -> None:
    log = runs.run(
        'echo "$#:$2:$3 $PWD"; echo "$SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_JOB_NODELIST $SLURM_NTASKS"',
        "#SBATCH --job-name=a.b~c\n#SBATCH --nodes=2 --ntasks-per-node=3\n",
    )
    assert log == [f"3:0:tag {runs.folder / 'job-0'}", "1 a.b~c localhost,localhost 6"]


def test_the_environment_is_scrubbed(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "SLURM_JOB_PARTITION",
        "SBATCH_QOS",
        "SRUN_DEBUG",
        "PMIX_RANK",
        "PMI_RANK",
        "SLURM_RESTART_COUNT",
    ):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("MINE", "kept")
    assert runs.run("env | grep -c leaked; echo $MINE") == ["0", "kept"]


def test_components_have_variables_of_their_own(runs: Runs) -> None:
    log = runs.run(
        'echo "$SLURM_HET_SIZE $SLURM_TASKS_PER_NODE $SLURM_JOB_ID_HET_GROUP_1"\n'
        'echo "$SLURM_TASKS_PER_NODE_HET_GROUP_1 $SLURM_JOB_NODELIST_HET_GROUP_1"\n'
        'echo "$SLURM_JOB_NUM_NODES_HET_GROUP_1"\n'
        'scontrol show hostnames "$SLURM_JOB_NODELIST,$SLURM_JOB_NODELIST_HET_GROUP_1"',
        "#SBATCH --ntasks=4\n#SBATCH hetjob\n#SBATCH --nodes=3 --ntasks=8\n",
    )
    assert log == ["2 4 1", "3(x2),2 localhost,localhost,localhost", "1", *["localhost"] * 4]


def test_success_and_failure_are_recorded(runs: Runs) -> None:
    good, bad, killed = runs.submit("true"), runs.submit("exit 7"), runs.submit("kill -9 $$")
    assert (runs.end(good).state, runs.end(good).status, runs.end(good).signal) == ("COMPLETED", 0, 0)
    assert (runs.end(bad).state, runs.end(bad).status, runs.end(bad).signal) == ("FAILED", 7, 0)
    assert (runs.end(killed).state, runs.end(killed).status, runs.end(killed).signal) == ("FAILED", 0, 9)
    seen = runs.observe(bad)
    assert None not in (seen.submitted, seen.started, seen.ended)
    assert seen.nodes == "localhost"


def test_job_ids_count_from_one(runs: Runs) -> None:
    assert [runs.submit("true") for _ in range(3)] == ["1", "2", "3"]


def test_an_unknown_job_is_not_in_the_answer(runs: Runs) -> None:
    assert runs.backend.observe([JobId("77")]) == {}
    with pytest.raises(NotFoundError):
        runs.backend.cancel(JobId("77"))


def test_a_job_is_found_by_its_tag(runs: Runs) -> None:
    runs.submit("true", tag="first")
    second = runs.submit("true", tag="second")
    assert runs.backend.find("second") == second
    assert runs.backend.find("third") is None


def test_a_directive_that_cannot_be_read_is_refused(runs: Runs) -> None:
    with pytest.raises(RejectedError, match="invalid time limit: soon"):
        runs.submit("true", "#SBATCH --time=soon\n")


def test_a_script_that_cannot_start_is_refused(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("#!/bin/bash\n", encoding="utf-8")
    submission = Submission(
        script=tmp_path / "s", folder=tmp_path, attempt=0, tag="t", log=tmp_path / "none" / "slurm.log"
    )
    with pytest.raises(RejectedError, match="No such file or directory"):
        runs.backend.submit(submission)


class TestSrun:
    """What a script can rely on in the stand-in of srun."""

    def test_tasks_know_their_place(self, runs: Runs) -> None:
        log = runs.run(
            "srun -N1 -n3 -c1 --mpi=none bash -c"
            " 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NODEID $SLURM_STEP_ID $SLURMD_NODENAME'"
        )
        assert sorted(log) == [f"{rank} {rank} 3 0 0 localhost" for rank in range(3)]

    def test_options_of_job_scripts_are_taken(self, runs: Runs) -> None:
        log = runs.run(
            "printf 'localhost\\nlocalhost\\n' >hosts\n"
            "SLURM_HOSTFILE=hosts srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0 --het-group=1"
            " --job-name=worker --nodes=1 --ntasks=2 --distribution=arbitrary --cpus-per-task=2 --gres=none"
            " --exact --mem=0 --overlap --input=none --chdir=/ --error=$PWD/err.log --nodelist=localhost"
            " bash -c 'pwd; echo bad >&2'; cat err.log",
            "#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n",
        )
        assert log == ["/", "/", "bad", "bad"]

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ("--no-such-option true", "unrecognized arguments: --no-such-option"),
            ("--het-group=1 true", "Invalid --het-group value: 1"),
            ("--nodelist=n7 true", "no such node: n7"),
            ("--export=NONE true", "only ALL"),
            ("-n1", "no command"),
        ],
    )
    def test_anything_else_is_an_error(self, runs: Runs, words: str, message: str) -> None:
        job_id = runs.submit(f"srun {words}")
        assert runs.end(job_id).status == 2
        assert message in "\n".join(runs.log(job_id))

    def test_a_host_file_must_name_this_machine(self, runs: Runs) -> None:
        job_id = runs.submit("echo n7 >hosts; SLURM_HOSTFILE=hosts srun true")
        assert runs.end(job_id).status == 2
        assert "no such node: n7" in "\n".join(runs.log(job_id))

    def test_the_highest_status_counts(self, runs: Runs) -> None:
        assert runs.run("srun -n4 bash -c 'exit $SLURM_PROCID' 2>/dev/null; echo $?") == ["3"]
        assert runs.run("srun -n2 bash -c 'kill -TERM $$' 2>/dev/null; echo $?") == ["143"]
        assert runs.run("srun nosuchprogram 2>/dev/null; echo $?") == ["2"]

    def test_a_failure_leaves_the_others_unless_told(self, runs: Runs) -> None:
        task = "bash -c '[ $SLURM_PROCID = 0 ] && exit 5; sleep {}; echo survived'"
        assert runs.run(f"srun -n2 -K0 {task.format(0.3)} 2>/dev/null; echo $?") == ["survived", "5"]
        assert runs.run(f"srun -n2 --kill-on-bad-exit=1 {task.format(60)} 2>/dev/null; echo $?") == ["137"]

    def test_lines_of_many_tasks_stay_whole(self, runs: Runs) -> None:
        log = runs.run(
            'srun -n20 bash -c \'for ((i = 0; i < 50; i++)); do printf "$SLURM_PROCID "; printf "%0400d\\n" $i; done\''
        )
        assert len(log) == 1000
        assert {len(line.split()[1]) for line in log} == {400}
        assert [line for line in log if line.startswith("7 ")] == [f"7 {i:0400d}" for i in range(50)]

    def test_output_without_lines_flows(self, runs: Runs) -> None:
        assert runs.run("srun -n2 head -c 20000000 /dev/zero | wc -c") == ["40000000"]

    def test_a_task_can_ask_before_its_line_has_ended(self, runs: Runs) -> None:
        task = "srun --unbuffered bash -c 'printf ask; read -r line; echo \"$line\"'"
        talk = 'read -rN3 word <&"${COPROC[0]}"; echo "$word and answer" >&"${COPROC[1]}"; cat <&"${COPROC[0]}"'
        assert runs.run(f"coproc {task}; {talk}") == ["ask and answer"]

    def test_input_reaches_all_tasks(self, runs: Runs) -> None:
        assert runs.run("printf 'a\\nb\\n' | srun -n3 cat | sort") == ["a"] * 3 + ["b"] * 3
        assert runs.run("echo a | srun -n3 --input=none cat") == []
        assert runs.run("echo a | srun -n3 --input=1 bash -c 'cat; cat >&2; echo $SLURM_PROCID' | sort") == [
            "0",
            "1",
            "2",
            "a",
        ]

    def test_input_arrives_while_the_step_runs(self, runs: Runs) -> None:
        log = runs.run(
            "mkfifo in out; srun -n2 --input=all bash -c 'while read -r x; do echo got $x; done' <in >out &\n"
            "exec 3>in 4<out\n"
            "for word in one two; do echo $word >&3; read -r a <&4; read -r b <&4; echo $a $b; done\n"
            "exec 3>&-; wait; echo $?"
        )
        assert log == ["got one got one", "got two got two", "0"]

    def test_much_input_is_not_lost(self, runs: Runs) -> None:
        log = runs.run("head -c 3000000 /dev/zero | srun -n3 bash -c 'sleep 0.$SLURM_PROCID; wc -c'")
        assert log == ["3000000"] * 3

    def test_step_ids_are_given_once(self, runs: Runs) -> None:
        log = runs.run("for i in {1..12}; do srun bash -c 'echo $SLURM_STEP_ID' & done; wait")
        assert sorted(map(int, log)) == list(range(12))

    def test_daemons_of_a_task_end_with_the_step(self, runs: Runs) -> None:
        job_id = runs.submit(
            "srun bash -c 'setsid sleep 600 & echo $!; sleep 600 & echo $!; env -i sleep 600 & echo $!'\n"
            "echo ended; sleep 600"
        )
        runs.wait_for_line(job_id, "ended")
        daemons = runs.log(job_id)[:-1]
        assert len(daemons) == 3
        assert [processes.process(int(pid)) for pid in daemons] == [None] * 3

    def test_term_to_srun_kills_its_tasks(self, runs: Runs) -> None:
        log = runs.run(
            "srun -n2 bash -c 'trap \"echo trapped\" TERM; touch up.$SLURM_PROCID; sleep 600' 2>/dev/null &\n"
            "until [[ -e up.0 && -e up.1 ]]; do sleep 0.01; done; kill -TERM $!; wait $!; echo $?"
        )
        assert log == ["137"]

    def test_tasks_do_not_inherit_ignored_signals(self, runs: Runs) -> None:
        log = runs.run("trap '' TERM INT PIPE; srun bash -c 'kill -TERM $$; echo alive' 2>/dev/null; echo $?")
        assert log == ["143"]

    def test_sixty_four_tasks_are_quick(self, runs: Runs) -> None:
        log = runs.run("s=$(date +%s%N); srun -n64 true; echo $((($(date +%s%N) - s) / 1000000))")
        assert int(log[0]) < 1500

    def test_many_tasks_need_no_more_files_than_allowed(self, runs: Runs) -> None:
        assert runs.run("ulimit -Sn 64; srun -n100 echo x | wc -l") == ["100"]


class TestSignals:
    """The stand-in of scancel, the end of jobs, the time limit."""

    TASK = 'trap "echo caught >>$PWD/caught; exit 0" TERM; touch up.$SLURM_PROCID; while :; do sleep 0.05; done'
    WAIT = "until [[ -e up.0 && -e up.1 ]]; do sleep 0.01; done\n"

    def test_a_step_is_signalled_by_its_id(self, runs: Runs) -> None:
        log = runs.run(
            f"srun -n2 bash -c '{self.TASK}' &\n{self.WAIT}"
            "scancel --signal=TERM $SLURM_JOB_ID.0; wait $!; echo $?; wc -l <caught"
        )
        assert log == ["0", "2"]

    def test_a_step_that_has_ended_is_an_error(self, runs: Runs) -> None:
        assert runs.run("srun true; scancel -s KILL $SLURM_JOB_ID.0 2>/dev/null; echo $?") == ["1"]
        assert runs.run("scancel 4711 2>/dev/null; echo $?") == ["1"]

    def test_the_script_alone_is_signalled(self, runs: Runs) -> None:
        log = runs.run("trap 'echo usr1' USR1; srun -n1 true; scancel --batch --signal=USR1 $SLURM_JOB_ID; echo on")
        assert log == ["usr1", "on"]

    def test_cancelling_ends_everything(self, runs: Runs) -> None:
        job_id = runs.submit(
            f"trap 'echo script' TERM\nsrun -n2 bash -c '{self.TASK}' &\n{self.WAIT}echo up; wait; wait; exit 3"
        )
        runs.wait_for_line(job_id, "up")
        runs.backend.cancel(job_id)
        ended = runs.end(job_id)
        assert (ended.state, ended.raw_state) == ("CANCELLED", f"CANCELLED by {os.getuid()}")
        assert ended.status == 3
        assert runs.log(job_id) == ["up", "script"]
        assert (runs.work(job_id) / "caught").read_text() == "caught\n" * 2
        runs.wait_for_nothing(job_id)
        runs.backend.cancel(job_id)

    def test_a_job_can_cancel_itself(self, runs: Runs) -> None:
        job_id = runs.submit("scancel $SLURM_JOB_ID; sleep 600")
        assert runs.end(job_id).state == "CANCELLED"

    def test_who_ignores_term_is_killed(self, runs: Runs) -> None:
        job_id = runs.submit("trap '' TERM; echo up; while :; do sleep 1; done")
        runs.wait_for_line(job_id, "up")
        began = time.monotonic()
        runs.backend.cancel(job_id)
        ended = runs.end(job_id)
        assert (ended.state, ended.signal) == ("CANCELLED", signal.SIGKILL)
        assert 4.5 < time.monotonic() - began < 15

    def test_the_time_limit_ends_a_job(self, runs: Runs) -> None:
        job_id = runs.submit(
            "trap 'echo warned' USR1; trap 'echo ended; exit 3' TERM; echo up; while :; do sleep 0.05; done",
            "#SBATCH --time=0:2 --signal=B:USR1@1\n",
        )
        ended = runs.end(job_id)
        assert (ended.state, ended.raw_state, ended.status) == ("TIMEOUT", "TIMEOUT", 3)
        assert runs.log(job_id) == ["up", "warned", "ended"]

    def test_what_a_script_leaves_behind_is_ended(self, runs: Runs) -> None:
        job_id = runs.submit("setsid sleep 600 & srun bash -c 'sleep 600' & sleep 0.3")
        assert runs.end(job_id).state == "COMPLETED"
        runs.wait_for_nothing(job_id)


class TestLoss:
    """A supervisor that is gone."""

    def state(self, runs: Runs, job_id: JobId) -> dict[str, object]:
        state = records.read_json(runs.home / "local" / job_id / "state.json")
        assert state is not None
        return state

    def lose_supervisor(self, runs: Runs) -> JobId:
        job_id = runs.submit("echo up; sleep 600")
        runs.wait_for_line(job_id, "up")
        pid = int(str(self.state(runs, job_id)["supervisor"]))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: processes.process(pid) is None, "the supervisor's end")
        return job_id

    def test_a_job_without_supervisor_runs_as_long_as_its_processes(self, runs: Runs) -> None:
        job_id = self.lose_supervisor(runs)
        assert (runs.observe(job_id).state, runs.observe(job_id).final) == ("RUNNING", False)
        processes.kill_all(runs.marks(job_id))
        lost = runs.observe(job_id)
        assert (lost.state, lost.final) == ("NODE_FAIL", True)
        assert "supervisor is gone" in lost.reason

    def test_such_a_job_can_be_cancelled(self, runs: Runs) -> None:
        job_id = self.lose_supervisor(runs)
        runs.backend.cancel(job_id)
        assert runs.end(job_id).raw_state == f"CANCELLED by {os.getuid()}"
        runs.wait_for_nothing(job_id)

    def test_after_a_restart_of_the_machine_the_job_is_lost(self, runs: Runs) -> None:
        job_id = runs.submit("sleep 600")
        self.rewrite(runs, job_id, boot="another")
        assert runs.observe(job_id).state == "NODE_FAIL"
        processes.kill_all(runs.marks(job_id))

    def test_another_machines_job_is_not_judged(self, runs: Runs) -> None:
        job_id = self.lose_supervisor(runs)
        processes.kill_all(runs.marks(job_id))
        self.rewrite(runs, job_id, host="elsewhere")
        assert runs.observe(job_id).state == "RUNNING"
        self.rewrite(runs, job_id, host=os.uname().nodename)

    def rewrite(self, runs: Runs, job_id: JobId, **changes: str) -> None:
        path = runs.home / "local" / job_id / "state.json"
        path.write_text(json.dumps(self.state(runs, job_id) | changes), encoding="utf-8")

"""What a script of the local backend can rely on in the stand-in of srun."""

from __future__ import annotations

import pytest

from paislurm.backends.slurm_emulator import processes

from ..running import Runs


def test_tasks_get_their_rank_and_node_variables(runs: Runs) -> None:
    log = runs.run(
        "srun -N1 -n3 -c1 --mpi=none bash -c"
        " 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NODEID $SLURM_STEP_ID $SLURMD_NODENAME'"
    )
    assert sorted(log) == [f"{rank} {rank} 3 0 0 localhost" for rank in range(3)]


def test_srun_options_of_job_scripts_are_accepted(runs: Runs) -> None:
    log = runs.run(
        "printf 'localhost\\nlocalhost\\n' >hosts\n"
        "SLURM_HOSTFILE=hosts srun --mpi=none --export=ALL --kill-on-bad-exit=0 --wait=0 --het-group=1"
        " --job-name=worker --ntasks=2 --distribution=arbitrary --cpus-per-task=2 --gres=none"
        " --exact --mem=0 --overlap --input=none --chdir=/ --error=$PWD/err.log --nodelist=localhost"
        " bash -c 'pwd; echo bad >&2'; cat err.log",
        "#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n",
    )
    assert log == ["/", "/", "bad", "bad"]


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ("srun --no-such-option true", "unrecognized arguments: --no-such-option"),
        ("srun --het-group=1 true", "Invalid --het-group value: 1"),
        ("srun --nodelist=n7 true", "no such node: n7"),
        ("srun --export=NONE true", "only ALL"),
        ("srun -n1", "no command"),
        ("echo n7 >hosts; SLURM_HOSTFILE=hosts srun true", "no such node: n7"),
        ("echo localhost >hosts; SLURM_HOSTFILE=hosts srun -n2 true", "a line for each task: 1 for --ntasks=2"),
    ],
)
def test_other_srun_options_and_nodes_are_refused(runs: Runs, commands: str, message: str) -> None:
    job_id = runs.submit(commands)
    assert runs.end(job_id).status == 2
    assert message in "\n".join(runs.log(job_id))


FIRST_FAILS = "bash -c '[ $SLURM_PROCID = 0 ] && exit 5; sleep {}; echo survived' 2>/dev/null; echo $?"
ASK = "srun --unbuffered bash -c 'printf ask; read -r line; echo \"$line\"'"
ANSWER = 'read -rN3 word <&"${COPROC[0]}"; echo "$word and answer" >&"${COPROC[1]}"; cat <&"${COPROC[0]}"'
TALK = """mkfifo in out; srun -n2 --input=all bash -c 'while read -r x; do echo got $x; done' <in >out &
exec 3>in 4<out
for word in one two; do echo $word >&3; read -r a <&4; read -r b <&4; echo $a $b; done
exec 3>&-; wait; echo $?"""
TERM = """srun -n2 bash -c 'trap "echo trapped" TERM; touch up.$SLURM_PROCID; sleep 600' 2>/dev/null &
until [[ -e up.0 && -e up.1 ]]; do sleep 0.01; done; kill -TERM $!; wait $!; echo $?"""
PRINTS = {
    "the highest exit status": ("srun -n4 bash -c 'exit $SLURM_PROCID' 2>/dev/null; echo $?", ["3"]),
    "the status of a signal": ("srun -n2 bash -c 'kill -TERM $$' 2>/dev/null; echo $?", ["143"]),
    "the status of a missing program": ("srun nosuchprogram 2>/dev/null; echo $?", ["2"]),
    "a failure lets other tasks run": (f"srun -n2 -K0 {FIRST_FAILS.format(0.3)}", ["survived", "5"]),
    "a failure ends other tasks": (f"srun -n2 --kill-on-bad-exit=1 {FIRST_FAILS.format(60)}", ["137"]),
    "output without newlines": ("srun -n2 head -c 20000000 /dev/zero | wc -c", ["40000000"]),
    "a prompt without newline at once": (f"coproc {ASK}; {ANSWER}", ["ask and answer"]),
    "input for all tasks": ("printf 'a\\nb\\n' | srun -n3 cat | sort", ["a"] * 3 + ["b"] * 3),
    "no input": ("echo a | srun -n3 --input=none cat", []),
    "input for one task": (
        "echo a | srun -n3 --input=1 bash -c 'cat; cat >&2; echo $SLURM_PROCID' | sort", ["0", "1", "2", "a"],
    ),
    "input while the step runs": (TALK, ["got one got one", "got two got two", "0"]),
    "large input": ("head -c 3000000 /dev/zero | srun -n3 bash -c 'sleep 0.$SLURM_PROCID; wc -c'", ["3000000"] * 3),
    "TERM to srun kills its tasks": (TERM, ["137"]),
    "tasks do not inherit ignored signals": (
        "trap '' TERM INT PIPE; srun bash -c 'kill -TERM $$; echo alive' 2>/dev/null; echo $?", ["143"],
    ),
    "many tasks within the limit on open files": ("ulimit -Sn 64; srun -n100 echo x | wc -l", ["100"]),
}  # fmt: skip


@pytest.mark.parametrize(("commands", "log"), PRINTS.values(), ids=PRINTS)
def test_what_a_script_prints_with_srun(runs: Runs, commands: str, log: list[str]) -> None:
    assert runs.run(commands) == log


def test_lines_of_parallel_tasks_are_not_mixed(runs: Runs) -> None:
    log = runs.run(
        'srun -n20 bash -c \'for ((i = 0; i < 50; i++)); do printf "$SLURM_PROCID "; printf "%0400d\\n" $i; done\''
    )
    assert len(log) == 1000
    assert {len(line.split()[1]) for line in log} == {400}
    assert [line for line in log if line.startswith("7 ")] == [f"7 {i:0400d}" for i in range(50)]


def test_step_ids_are_unique(runs: Runs) -> None:
    log = runs.run("for i in {1..12}; do srun bash -c 'echo $SLURM_STEP_ID' & done; wait")
    assert sorted(map(int, log)) == list(range(12))


def test_daemons_of_a_task_end_with_the_step(runs: Runs) -> None:
    job_id = runs.submit(
        "srun bash -c 'setsid sleep 600 & echo $!; sleep 600 & echo $!; env -i sleep 600 & echo $!'\n"
        "echo ended; sleep 600"
    )
    runs.wait_for_line(job_id, "ended")
    daemons = runs.log(job_id)[:-1]
    assert len(daemons) == 3
    assert [processes.process(int(pid)) for pid in daemons] == [None] * 3


def test_a_step_of_64_tasks_is_fast(runs: Runs) -> None:
    log = runs.run("s=$(date +%s%N); srun -n64 true; echo $((($(date +%s%N) - s) / 1000000))")
    assert int(log[0]) < 1500

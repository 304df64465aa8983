"""What sbatch refuses, and what is no answer: told apart, in Slurm's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.backends import slurm_commands
from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import SlurmBackend
from paislurm.translator.errors import RejectedError, UnreachableError
from paislurm.translator.monitoring.attempt import NEVER_SENT

from .recording import Recording, Replay, read, submission

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

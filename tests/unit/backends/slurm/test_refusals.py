"""What sbatch refuses, and what is no answer: told apart, in Slurm's words."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.refusal_table import REFUSALS as TABLE
from paislurm.backends.slurm.refusals import failure
from paislurm.translator.errors import BackendError, RejectedError, UnreachableError
from paislurm.translator.protocol.extras_slurm import SlurmExtras
from paislurm.translator.protocol.raw_options import SBATCH

from ..recording import Recording, Replay, read, submission

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
def test_refusals_name_the_option_and_quote_slurm(case: str) -> None:
    option, words = REFUSALS[case]
    name = f"refused_{case}"
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(Replay(read(name))).submit(submission(name))
    message = caught.value.diagnostics[0].message
    assert (f"sbatch refuses {option}: " in message, words in message) == (True, True)
    assert (caught.value.argv, bool(caught.value.status)) == (tuple(commands.sbatch(submission(name))), True)
    assert words in caught.value.stderr


def test_every_recorded_refusal_is_tested() -> None:
    folder = Path(__file__).parents[3] / "slurm_output" / "22.05"
    assert {f"refused_{case}" for case in REFUSALS} == {path.stem for path in folder.glob("refused_*")}


def test_an_unreachable_controller_is_not_a_refusal() -> None:
    backend = SlurmBackend(Replay(read("controller_away")))
    with pytest.raises(UnreachableError, match="nothing was submitted") as caught:
        backend.submit(submission("controller_away"))
    assert caught.value.is_refusal
    for ask in (lambda: backend.observe([JobId("1")]), lambda: backend.cancel(JobId("1"))):
        with pytest.raises(UnreachableError, match="connect failure"):
            ask()


def answered(status: int, *, stdout: str = "", stderr: str = "") -> BackendError:
    """Return the error of a submission that sbatch answers so."""
    wanted = submission("x")
    answer = Recording(tuple(commands.sbatch(wanted)), Completed(status=status, stdout=stdout, stderr=stderr))
    with pytest.raises(BackendError) as caught:
        SlurmBackend(Replay([answer])).submit(wanted)
    return caught.value


def test_an_sbatch_that_is_killed_may_have_sent_the_job() -> None:
    error = failure(("sbatch",), Completed(status=-9, stdout="", stderr=""))
    assert isinstance(error, UnreachableError)
    assert not error.is_refusal


def test_a_machine_without_a_cluster_has_submitted_nothing() -> None:
    said = "sbatch: error: fetch_config: failed\nsbatch: fatal: Could not establish a configuration source\n"
    error = answered(1, stderr=said)
    assert isinstance(error, UnreachableError)
    assert ("Slurm is not set up on this machine" in str(error), error.is_refusal) == (True, True)


@pytest.mark.parametrize(
    "stderr",
    [
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)\n",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n",
        "sbatch: error: Batch job submission failed: Protocol authentication error\n",
        "sbatch: error: Batch job submission failed: Unexpected missing socket error\n",
        "sbatch: error: Batch job submission failed: Communication shutdown failure\n",
    ],
)
def test_a_missing_answer_is_never_a_refusal(stderr: str) -> None:
    error = answered(1, stderr=stderr)
    assert isinstance(error, UnreachableError)
    assert ("may have accepted the job" in str(error), error.is_refusal) == (True, False)


@pytest.mark.parametrize("said", ["Slurm job queue full", "Slurm temporarily unable to accept job"])
@pytest.mark.parametrize(
    ("queue", "status", "expected"),
    [("", 0, "E508"), ("5|PD|tag|x\n", 0, "5"), ("", 1, "E502")],
    ids=["not accepted", "accepted", "no answer"],
)
def test_a_full_controller_is_a_refusal_that_ends_by_itself(said: str, queue: str, status: int, expected: str) -> None:
    """Sbatch is stopped while it waits to try again. If a try of its own came first, the tag tells."""
    stopped = Completed(status=-9, stdout="", stderr=f"sbatch: error: {said}, sleeping and retrying\n")
    answers = {"sbatch": stopped, "squeue": Completed(status=status, stdout=queue, stderr="")}
    other = Completed(status=0, stdout="JobID|Comment|SubmitLine\n", stderr="")
    backend = SlurmBackend(Mock(run=lambda argv, **_: answers.get(argv[0], other)))
    wanted = replace(submission("x"), tag="tag")
    if expected == "5":
        assert backend.submit(wanted).job_id == "5"
        return
    with pytest.raises(BackendError) as caught:
        backend.submit(wanted)
    assert (caught.value.diagnostics[0].code, caught.value.is_refusal) == (expected, expected == "E508")


def test_an_unknown_refusal_is_quoted_unchanged() -> None:
    error = answered(1, stderr="sbatch: error: Something\nsbatch: error: entirely new\n")
    assert isinstance(error, RejectedError)
    assert "sbatch refuses: Something; entirely new" in str(error)


def test_an_answer_without_a_job_id_is_invalid() -> None:
    error = answered(0, stdout="welcome\n")
    assert isinstance(error, UnreachableError)
    assert "printed no job id: welcome" in str(error)


SAID = {
    "Invalid --nice value": ("nice", ""),
    "Time limit specification required, but not provided": ("time", "write `time: 2:00:00` under `extras.slurm`"),
    "Requested time limit is invalid (missing or exceeds some limit)": ("time", "`sinfo -o '%P %l'`"),
    "No partition specified or system default partition": ("partition", "write `partition` under `extras.slurm`"),
    "Invalid partition name specified": ("partition", "write `partition` under `extras.slurm`"),
    "User's group not permitted to use this partition": ("partition", "`scontrol show partition NAME`"),
    "Required partition not available (inactive or drain)": ("partition", "write another `partition`"),
    "Invalid account or account/partition combination specified": ("account", "write `account`"),
    "AssocMaxSubmitJobLimit": ("account qos", "wait for one of your jobs to end"),
    "QOSMaxSubmitJobPerUserLimit": ("account qos", "another `account` or `qos`"),
    "QOSMaxWallDurationPerJobLimit": ("time", "write a smaller `time`"),
    "QOSMaxGRESPerUser": ("gres account qos", "request fewer"),
    "AssocMaxCpuPerJobLimit": ("nodes cpus-per-task mem account qos", "less `cpu`"),
    "Access/permission denied": ("partition", "(AllocNodes)"),
    "MaxJobCount limit reached": ("", "as many as it can (MaxJobCount"),
    "Resource temporarily unavailable": ("", "as many as it can (MaxJobCount"),
    "Invalid qos specification": ("qos", "write `qos` under `extras.slurm`"),
    "Invalid QOS specification, relative QOS can only be used in a single partition per cluster.": ("qos", "`qos`"),
    "Memory required by task is not available": ("mem", "write a smaller `memoryMB`"),
    "Invalid generic resource (gres) specification": ("gres", "`nodeTypes` of the site profile"),
    "Duplicate generic resource (gres) specification": ("gres", "`sinfo -o '%N %G'`"),
    "Invalid Trackable RESource (TRES) specification": ("gres", "`sinfo -o '%N %G'`"),
    "Requested more tasks than available processors": ("cpus-per-task", "write a smaller `cpu`"),
    "Invalid feature specification": ("constraint", "write features of nodes as `constraint` under `extras.slurm`"),
    "Access denied to requested reservation": ("reservation", "write `reservation` under `extras.slurm`"),
    "Requested reservation not usable now": ("reservation", "`scontrol show res`"),
    "Requested nodes not in this partition": ("nodelist partition", "change `nodelist` or `partition`"),
    "Invalid node name specified": ("nodelist exclude", "change `nodelist` or `exclude`"),
    "Node count specification invalid": ("nodes", "fewer `instances`"),
    "More processors requested than permitted": ("nodes", "fewer `instances`"),
    "Requested operation not supported on this system": (
        "",
        "write `scheduler: {type: builtin}` into the site profile",
    ),
    "Invalid license specification": ("licenses", "write `options: [--licenses=NAME:1]`"),
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": (
        "account qos",
        "submit fewer or smaller jobs",
    ),
    "Requested node configuration is not available": ("nodes cpus-per-task mem gres", "`memoryMB`, `gpu`"),
    "Requested topology configuration is not available": ("nodes cpus-per-task mem gres", "`instances`"),
    "Plugin initialization failed": ("", "report this message to the site's administrator"),
    "Spank plugin failure, job failed": ("", "report this message to the site's administrator"),
}
"""Answers of controllers with the options that they are about. Source: libslurm of 22.05, 24.11 and 26.05."""


def refused(stderr: str) -> RejectedError:
    error = failure(["sbatch"], Completed(status=1, stdout="", stderr=stderr))
    assert isinstance(error, RejectedError)
    return error


def verdict(answer: str) -> str:
    return f"sbatch: error: Batch job submission failed: {answer}\n"


@pytest.mark.parametrize("answer", SAID)
def test_each_refusal_has_a_hint(answer: str) -> None:
    options, hint = SAID[answer]
    error = refused(verdict(answer))
    code = "E508" if re.search("MaxSubmit|MaxJobCount", f"{answer}{hint}") else "E503"
    assert (" ".join(error.options), error.diagnostics[0].code) == (options, code)
    assert hint in error.diagnostics[0].hint
    assert answer in error.diagnostics[0].message


@pytest.mark.parametrize(
    ("said", "lasting"),
    [
        (verdict("Invalid --nice value"), True),
        (verdict("Invalid qos specification"), False),
        (verdict("Invalid account or account/partition combination specified"), False),
        ("sbatch: error: invalid partition specified: xx\n" + verdict("Invalid partition name specified"), False),
        ("sbatch: unrecognized option '--nonsense'\n", True),
        ("sbatch: error: Invalid --time specification\n", True),
        ("sbatch: error: AssocMaxSubmitJobLimit\n" + verdict("Job violates accounting/QOS policy"), False),
        (verdict("Requested node configuration is not available"), False),
        (verdict("Required partition not available (inactive or drain)"), False),
        ("sbatch: error: Invalid qos, says the site, for today\n" + verdict("Unspecified error"), False),
        ("sbatch: error: something new\n", False),
    ],
)
def test_permanent_refusals_are_marked_as_lasting(said: str, lasting: bool) -> None:
    assert refused(said).lasting is lasting


def test_a_missing_answer_is_not_a_lasting_refusal() -> None:
    said = "sbatch: error: Invalid --nice value\nsbatch: error: Unable to contact slurm controller (connect failure)\n"
    error = failure(["sbatch"], Completed(status=1, stdout="", stderr=said))
    assert isinstance(error, UnreachableError)
    assert not error.lasting


def test_keys_named_in_hints_exist() -> None:
    keys = {field.alias or name for name, field in SlurmExtras.model_fields.items()}
    keys |= {"time.default", "virtualClusters", "priorities", "nodeTypes", "gpus", "partitions"}
    keys |= {"instances", "cpu", "memoryMB", "gpu"}
    for refusal in TABLE:
        quoted = re.findall(r"`([^`]+)`", refusal.hint)
        written = [word for word in quoted if re.fullmatch(r"[\w.]+", word) and word not in ("sinfo", "extras.slurm")]
        assert set(written) <= keys, refusal.hint
        for option in re.findall(r"options: \[--([a-z-]+)", refusal.hint):
            assert option not in SBATCH


LUA = (
    "sbatch: error: 0: Say which account pays:\nsbatch: error: 1: Say which account pays:\n"
    "sbatch: error: use --account=PROJECT or -q QOS --bb=x, see https://example.org\n" + verdict("Unspecified error")
)
"""What a site's job_submit.lua says by log_user() before it refuses. Source: observed on 22.05."""


def test_the_message_of_a_site_rule_is_quoted() -> None:
    error = refused(LUA)
    (diagnostic,) = error.diagnostics
    assert diagnostic.message == (
        "sbatch refuses --account or --qos or --bb: a rule of the site (job_submit) refuses the job; "
        'message of the site: "Say which account pays: use --account=PROJECT or -q QOS --bb=x, see https://example.org"'
    )
    assert diagnostic.hint == (
        "write `account` and `qos` and `options: [--bb=...]` under `extras.slurm`, as the site's message requires"
    )
    assert error.options == ("account", "qos", "bb")


def test_a_site_message_that_resembles_a_slurm_error_names_no_option() -> None:
    error = refused("sbatch: error: invalid partition for you, and Invalid qos\n" + verdict("Unspecified error"))
    assert error.options == ()
    assert error.diagnostics[0].message.endswith('; message of the site: "invalid partition for you, and Invalid qos"')
    # Even like no answer at all.
    assert refused(verdict("Socket timed out on send/recv operation") + verdict("Unspecified error")).options == ()


def test_a_site_rule_without_a_message_is_named() -> None:
    (diagnostic,) = refused(verdict("Unspecified error")).diagnostics
    assert diagnostic.message == "sbatch refuses: a rule of the site (job_submit) refuses the job"
    assert "ask the site" in diagnostic.hint


def test_additional_slurm_messages_are_not_attributed_to_the_site() -> None:
    said = "sbatch: error: Memory specification can not be satisfied\n"
    (diagnostic,) = refused(said + verdict("Requested node configuration is not available")).diagnostics
    assert diagnostic.message.startswith("sbatch refuses --mem: Memory specification can not be satisfied; Batch job")


@pytest.mark.parametrize("words", ["GPUs are temporarily unable to run", "MUNGE is down for you", "Socket timed out"])
def test_a_site_message_is_never_read_as_a_missing_answer(words: str) -> None:
    error = refused(f"sbatch: error: {words}\n" + verdict("Unspecified error"))
    assert f'message of the site: "{words}"' in error.diagnostics[0].message


@given(st.lists(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1), max_size=3))
def test_any_site_message_keeps_the_refusal_a_refusal(lines: list[str]) -> None:
    before = "".join(f"sbatch: error: {line}\n" for line in lines)
    (diagnostic,) = refused(before + verdict("Unspecified error")).diagnostics
    assert diagnostic.code == "E503"
    for line in lines:
        assert re.sub(r"^\d+: ", "", line.strip()) in diagnostic.message
    away = failure(["sbatch"], Completed(status=1, stdout="", stderr=before + verdict("Socket timed out on send/recv")))
    assert isinstance(away, UnreachableError)

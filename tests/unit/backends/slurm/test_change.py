"""Jobs that are changed: the command lines, refusals in words, and what Slurm took of several options.

Source of the words: 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.change import FIELDS
from paislurm.translator.errors import RejectedError, UnreachableError

from ..recording import Says


@pytest.mark.parametrize(
    ("job_id", "values", "said"),
    [
        ("7", {"time": "02:00:00"}, ["scontrol update JobId=7 TimeLimit=02:00:00"]),
        (
            "7",
            {"nice": "5", "qos": "long", "account": "lab", "partition": "gpu2", "retries": "3"},
            ["scontrol update JobId=7 Partition=gpu2 Account=lab QOS=long Nice=5"],
        ),
        ("7;far", {"time": "00:05:00"}, ["scontrol --clusters=far update JobId=7 TimeLimit=00:05:00"]),
        ("7", {"held": "yes"}, ["scontrol hold 7"]),
        ("7;far", {"held": "no"}, ["scontrol --clusters=far release 7"]),
        ("7", {"retries": "3"}, []),
    ],
)
def test_all_options_of_a_job_change_in_one_call(job_id: str, values: dict[str, str], said: list[str]) -> None:
    scontrol = Says()
    SlurmBackend(scontrol).change(JobId(job_id), values)
    assert [" ".join(argv) for argv in scontrol.asked] == said


@pytest.mark.parametrize(
    ("error", "values", "says", "helps"),
    [
        (
            "Access/permission denied for job 3\n",
            {"time": "02:00:00"},
            "Slurm refuses --time of job 3: Access/permission denied for job 3",
            "lower the time limit of a running job",
        ),
        (
            "Job is no longer pending execution for job 3\n",
            {"time": "00:05:00", "partition": "gpu2"},
            "Slurm refuses --time and --partition of job 3: Job is no longer pending execution",
            "only while the job waits",
        ),
        ("Access/permission denied for job 3\n", {"nice": "-5"}, "--nice of job 3", "for more, ask an administrator"),
        (
            "Access/permission denied for job 3\nslurm_suspend error: Access/permission denied\n",
            {"held": "no"},
            "Slurm refuses --release of job 3",
            "ask an administrator",
        ),
        ("Invalid partition name specified for job 3\n", {"partition": "x"}, "--partition", "list the partitions"),
        ("Invalid qos specification for job 3\n", {"qos": "x"}, "--qos", "sacctmgr show associations"),
        (
            "Job has already finished for job 3\nslurm_suspend error:Job has already finished\n",
            {"held": "yes"},
            "--hold of job 3: Job has already finished",
            "submit --again",
        ),
        ("something new\n", {"time": "1"}, "something new", "scontrol(1)"),
    ],
)
def test_refusals_are_explained_with_a_hint(error: str, values: dict[str, str], says: str, helps: str) -> None:
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(Says(error)).change(JobId("3"), values)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E621"
    assert says in diagnostic.message
    assert helps in diagnostic.hint


def test_an_unreachable_controller_is_not_a_refusal() -> None:
    error = "slurm_update error: Unable to contact slurm controller (connect failure)\n"
    with pytest.raises(UnreachableError):
        SlurmBackend(Says(error)).change(JobId("3"), {"time": "1"})


NAMES = {field: name for name, field in FIELDS.items()}
WANTED = {"time": "00:09:00", "partition": "pair", "account": "Extra", "qos": "long", "nice": "3"}
HAS = {"time": "20:00", "partition": "normal", "account": "research", "qos": "normal", "nice": "0"}


class Controller:
    """Slurm as far as jobs are changed: each component takes settings in Slurm's order until one is refused."""

    def __init__(self, refuses: Collection[str], components: int = 1) -> None:
        self.has = [dict(HAS) for _ in range(components)]
        self.refuses = refuses
        self.asked: list[str] = []
        self.rows = True

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        """Answer scontrol update, and the squeue that asks for options."""
        self.asked.append(" ".join(argv))
        if argv[0] == "squeue":
            names = ("time", "partition", "account", "qos", "nice")
            rows = ("|".join([f"7+{k}", *(has[name] for name in names)]) for k, has in enumerate(self.has))
            return Completed(status=0, stdout="\n".join(rows) * self.rows, stderr="")
        settings = dict(word.split("=", 1) for word in argv[3:])
        for job in argv[2].partition("=")[2].split(","):
            for field in sorted(settings):
                if NAMES[field] in self.refuses:
                    return Completed(status=1, stdout="", stderr="Access/permission denied for job 7\n")
                # The QOS of a job is that of its leader alone, as on 24.11 and 26.05.
                for k in range(len(self.has)) if "+" not in job and field != "QOS" else [int(job[2:] or 0)]:
                    self.has[k][NAMES[field]] = {"00:09:00": "9:00"}.get(settings[field], settings[field].lower())
        return Completed(status=0, stdout="", stderr="")


@given(st.sets(st.sampled_from(sorted(WANTED)), min_size=1), st.sets(st.sampled_from(sorted(WANTED))))
def test_a_refusal_names_what_was_not_changed(names: set[str], refuses: set[str]) -> None:
    """What Slurm accepted before that stays, and is reported."""
    controller = Controller(refuses)
    wanted = {name: WANTED[name] for name in names}
    left: set[str] = set()
    message = ""
    try:
        SlurmBackend(controller).change(JobId("7"), wanted | {"held": "yes"} if refuses & names else wanted)
    except RejectedError as error:
        left, message = {*error.options} - {"held"}, error.diagnostics[0].message
        assert "held" in error.options
    changed = {name for name in WANTED if controller.has[0][name] != HAS[name]}
    assert (changed, bool(left)) == (names - left, bool(names & refuses))
    reported = {name for name in WANTED if f"--{name}" in message.partition("it changed ")[2]}
    assert reported == (changed if left else set())
    assert len(controller.asked) <= 2


def test_one_call_changes_all_components() -> None:
    controller = Controller((), components=3)
    SlurmBackend(controller, lambda _: 3).change(JobId("7"), WANTED)
    assert len(controller.asked) == 1
    assert [has["qos"] for has in controller.has] == ["long"] * 3
    assert controller.has[0] == controller.has[2]


def test_without_an_answer_nothing_counts_as_changed() -> None:
    controller = Controller(("nice",))
    controller.rows = False
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(controller).change(JobId("7"), {"time": "00:09:00", "nice": "3"})
    assert caught.value.options == ("time", "nice")

"""Jobs that are changed: the command lines, refusals in words, and what Slurm took of several options.

Source of the words: 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.base import JobId
from paislurm.backends.runner import Completed
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.change import FIELDS
from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Scontrol:
    """A runner that keeps what it is told, and answers with an error if there is one."""

    def __init__(self, error: str = "") -> None:
        self.called: list[list[str]] = []
        self._error = error

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        """Keep the command line."""
        self.called.append(list(argv))
        return Completed(status=int(bool(self._error)), stdout="", stderr=self._error)


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
    scontrol = Scontrol()
    SlurmBackend(scontrol).change(JobId(job_id), values, [{}])
    assert [" ".join(argv) for argv in scontrol.called] == said


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
        ("Access/permission denied for job 3\n", {"nice": "-5"}, "--nice of job 3", "0 or more"),
        (
            "Access/permission denied for job 3\nslurm_suspend error: Access/permission denied\n",
            {"held": "no"},
            "Slurm refuses --release of job 3",
            "ask an administrator to release it",
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
        SlurmBackend(Scontrol(error)).change(JobId("3"), values)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E621"
    assert says in diagnostic.message
    assert helps in diagnostic.hint


def test_an_unreachable_controller_is_not_a_refusal() -> None:
    error = "slurm_update error: Unable to contact slurm controller (connect failure)\n"
    with pytest.raises(UnreachableError):
        SlurmBackend(Scontrol(error)).change(JobId("3"), {"time": "1"})


NAMES = {field: name for name, field in FIELDS.items()}
WANTED = {"time": "00:09:00", "partition": "pair", "account": "Extra", "qos": "long", "nice": "-3"}
HAS = {"time": "20:00", "partition": "normal", "account": "research", "qos": "normal", "nice": "0"}
DENIED = "Access/permission denied for job 7\n"
AWAY = "slurm_update error: Unable to contact slurm controller (connect failure)\n"


class Controller:
    """Slurm as far as jobs are changed: it takes settings in its own order until one is refused, in each component.

    `refuses` are options, and `at` the components that do; after `away` changes it answers no more.
    """

    def __init__(
        self, *, refuses: Collection[str], at: Sequence[int] = (0,), components: int = 1, away: int = 99
    ) -> None:
        self.has = [dict(HAS) for _ in range(components)]
        self.refuses, self.at, self.away = refuses, at, away
        self.updates: list[str] = []
        self.queries = 0

    def run(self, argv: Sequence[str], **_: object) -> Completed:
        """Answer scontrol update, and the squeue that asks for options."""
        if argv[0] == "squeue":
            self.queries += 1
            return Completed(status=0, stdout=self._rows(), stderr="")
        assert argv[:2] == ["scontrol", "update"]
        self.updates.append(" ".join(argv[2:]))
        if len(self.updates) > self.away:
            return Completed(status=1, stdout="", stderr=AWAY)
        _, _, one = argv[2].partition("+")
        settings = dict(word.split("=", 1) for word in argv[3:])
        failed = [self._change(int(k), self._of(int(k), one, settings)) for k in (one or range(len(self.has)))]
        return Completed(status=int(any(failed)), stdout="", stderr=DENIED * any(failed))

    @staticmethod
    def _of(component: int, one: str, settings: Mapping[str, str]) -> dict[str, str]:
        """Return what a component gets: the QOS of a job is that of its leader alone, as on 24.11 and 26.05."""
        return {field: value for field, value in settings.items() if one or not component or field != "QOS"}

    def _change(self, component: int, settings: Mapping[str, str]) -> bool:
        for field in sorted(settings):
            if NAMES[field] in self.refuses and component in self.at and settings[field] not in HAS.values():
                return True
            self.has[component][NAMES[field]] = _as_slurm_says(settings[field])
        return False

    def _rows(self) -> str:
        """Return what squeue prints: components in any order."""
        ids = [f"7+{k}" for k in range(len(self.has))] if len(self.has) > 1 else ["7"]
        rows = [
            "|".join([i, *(h[n] for n in ("time", "partition", "account", "qos", "nice"))])
            for i, h in zip(ids, self.has, strict=True)
        ]
        return "\n".join(reversed(rows)) + "\n"


def _as_slurm_says(value: str) -> str:
    return {"00:09:00": "9:00"}.get(value, value.lower())


def change(controller: Controller, wanted: Mapping[str, str]) -> BackendError | None:
    """Change the job; return the error."""
    backend = SlurmBackend(controller)
    before = backend.options([JobId("7")])[JobId("7")]
    controller.queries = 0
    try:
        backend.change(JobId("7"), wanted, before)
    except BackendError as error:
        return error
    return None


@given(st.sets(st.sampled_from(sorted(WANTED)), min_size=1), st.sets(st.sampled_from(sorted(WANTED))))
def test_options_not_named_by_the_error_are_changed(names: set[str], refuses: set[str]) -> None:
    controller = Controller(refuses=refuses)
    wanted = {name: WANTED[name] for name in names}
    error = change(controller, wanted)
    assert set(error.options if error else ()) == names & refuses
    changed = {name for name in WANTED if controller.has[0][name] != HAS[name]}
    assert changed == names - refuses
    assert len(controller.updates) <= (1 if not names & refuses else 1 + len(names))
    if error:
        said = "; ".join(each.message for each in error.diagnostics)
        assert all((f"refuses --{name} of job 7" in said) is (name in refuses) for name in names)
        assert ("it changed" in said) is bool(changed)
        assert {name for name in names if f"--{name}" in said.partition("it changed ")[2]} == changed


def test_one_call_suffices_if_nothing_is_refused() -> None:
    controller = Controller(refuses=())
    assert change(controller, WANTED) is None
    assert controller.updates == ["JobId=7 TimeLimit=00:09:00 Partition=pair Account=Extra QOS=long Nice=-3"]
    assert controller.queries == 0


def test_the_hint_belongs_to_the_refused_option() -> None:
    controller = Controller(refuses=("nice",))
    error = change(controller, {"time": "00:09:00", "nice": "-3"})
    assert isinstance(error, RejectedError)
    (diagnostic,) = error.diagnostics
    assert diagnostic.message == "Slurm refuses --nice of job 7: Access/permission denied for job 7; it changed --time"
    assert "a nice value of 0 or more" in diagnostic.hint


@pytest.mark.parametrize("refused_by", [0, 1])
def test_an_option_refused_by_one_component_is_reset_on_the_others(refused_by: int) -> None:
    controller = Controller(refuses=("partition",), at=(refused_by,), components=2)
    error = change(controller, {"time": "00:09:00", "partition": "pair"})
    assert error is not None
    assert error.options == ("partition",)
    assert [has["partition"] for has in controller.has] == ["normal", "normal"]
    assert [has["time"] for has in controller.has] == ["9:00", "9:00"]
    assert controller.updates[-1] == f"JobId=7+{1 - refused_by} Partition=normal"
    assert "keeps --" not in error.diagnostics[-1].message


def test_a_component_that_cannot_be_reset_is_reported() -> None:
    controller = Controller(refuses=("partition",), at=(1,), components=2, away=2)
    error = change(controller, {"partition": "pair"})
    assert error is not None
    assert len(controller.updates) == 3
    assert "; component 0 keeps --partition pair" in error.diagnostics[-1].message


def test_options_not_passed_on_by_the_leader_are_set_on_components() -> None:
    controller = Controller(refuses=(), components=3)
    controller.has[2]["qos"] = "long"
    assert change(controller, WANTED) is None
    assert [{name: has[name] for name in WANTED} for has in controller.has] == [
        {name: _as_slurm_says(value) for name, value in WANTED.items()}
    ] * 3
    assert controller.updates[1:] == ["JobId=7+1 QOS=long"]
    assert controller.queries == 1


def test_components_are_queried_if_unknown_before_the_change() -> None:
    controller = Controller(refuses=(), components=2)
    SlurmBackend(controller).change(JobId("7"), {"qos": "long"})
    assert [has["qos"] for has in controller.has] == ["long", "long"]


def test_without_a_query_components_that_differed_before_are_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = Controller(refuses=(), components=2)
    before = SlurmBackend(controller).options([JobId("7")])[JobId("7")]
    monkeypatch.setattr(controller, "_rows", lambda: "")
    SlurmBackend(controller).change(JobId("7"), {"qos": "long"}, before)
    assert controller.updates == ["JobId=7 QOS=long", "JobId=7+1 QOS=long"]


@pytest.mark.parametrize("others", [("time",), ("time", "nice")])
def test_a_refusal_by_a_component_resets_the_leader(others: tuple[str, ...]) -> None:
    """What is set back, and what is told, is as where the leader refuses."""
    controller = Controller(refuses=("qos",), at=(1,), components=3)
    error = change(controller, {name: WANTED[name] for name in (*others, "qos")})
    assert isinstance(error, RejectedError)
    assert error.options == ("qos",)
    (diagnostic,) = error.diagnostics
    took = " and ".join(f"--{name}" for name in others)
    assert diagnostic.message == f"Slurm refuses --qos of job 7: Access/permission denied for job 7; it changed {took}"
    assert [has["qos"] for has in controller.has] == ["normal"] * 3
    assert [has["time"] for has in controller.has] == ["9:00"] * 3
    assert controller.updates[1:] == ["JobId=7+1 QOS=long", "JobId=7+0 QOS=normal"]


def test_no_further_calls_after_a_controller_timeout() -> None:
    controller = Controller(refuses=("account", "partition"), away=2)
    error = change(controller, WANTED)
    assert isinstance(error, UnreachableError)
    assert len(controller.updates) == 3
    changed = {name for name in WANTED if controller.has[0][name] != HAS[name]}
    assert changed == set(WANTED) - set(error.options)


def test_options_are_ordered_by_component_in_sbatch_format() -> None:
    controller = Controller(refuses=(), components=2)
    controller.has[1] |= {"time": "UNLIMITED", "account": "(null)"}
    found = SlurmBackend(controller).options([JobId("7"), JobId("8")])
    assert found == {
        "7": [
            {"time": "00:20:00", "partition": "normal", "account": "research", "qos": "normal", "nice": "0"},
            {"time": "UNLIMITED", "partition": "normal", "qos": "normal", "nice": "0"},
        ]
    }
    assert controller.queries == 1


def test_an_unknown_result_of_a_change_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(refuses=("nice",))
    monkeypatch.setattr(controller, "_rows", lambda: "")
    with pytest.raises(RejectedError) as caught:
        SlurmBackend(controller).change(JobId("7"), {"time": "00:09:00", "nice": "-3"})
    assert caught.value.options == ("time", "nice")
    assert caught.value.diagnostics[0].message.endswith("denied for job 7; it may have changed some")
    assert len(controller.updates) == 1


def test_a_timeout_for_one_option_keeps_the_accepted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(refuses=("account",))
    run, silent = controller.run, UnreachableError(Diagnostic(code="E502", message="timed out"))

    def late(argv: Sequence[str], **more: object) -> Completed:
        if argv[3:] == ["Nice=-3"]:
            raise silent
        return run(argv, **more)

    monkeypatch.setattr(
        controller, "run", lambda argv, **more: run(argv, **more) if len(argv) > 4 else late(argv, **more)
    )
    error = change(controller, {name: WANTED[name] for name in ("time", "account", "nice")})
    assert isinstance(error, UnreachableError)
    assert error.options == ("account", "nice")
    assert "it changed --time" in error.diagnostics[-1].message

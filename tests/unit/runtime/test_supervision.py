"""The bash decides as the model does: completion, ties, task retry, and ends from outside."""

from __future__ import annotations

import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from .bash import sourced
from .oracle import Decision, Exit, RoleModel, TaskRetries, decide

HARNESS = Path(__file__).with_name("harness.sh").read_text(encoding="utf-8")
START = 1000
ENDS = [
    (0, 0, "success"),
    (1, 255, "unknown"),
    (3, 255, "unknown"),
    (137, 137, "transient"),
    (137, -1200, "permanent"),
    (143, 143, "transient"),
    (130, 130, "transient"),
    (139, 139, "unknown"),
    (1, 253, "transient"),
    (2, 251, "conflict"),
    (141, 141, "permanent"),
]
"""Exit status, code and behaviour, as the exit specification makes them."""
BATCH = 40
"""Cases that one bash runs."""
MADE = settings(
    deadline=None,
    # A batch is not shrunk: the message has the one case that failed.
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass(repr=False)
class Case:
    """A made-up job, and what the bash made of it."""

    roles: list[RoleModel]
    lines: list[str]
    gang: bool = True
    ceiling: int = 3
    restarts: int = 3
    of_job: int = -1
    exits: list[Exit] = field(default_factory=list)
    runs: dict[tuple[int, int, int], tuple[int, int, int, str]] = field(default_factory=dict)
    term: int | None = None
    said: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return "a case"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 - hypothesis's signature
        printer.text(repr(self))

    def text(self) -> str:
        head = [f"job {int(self.gang)} {self.ceiling} {self.restarts} {self.of_job}"]
        head += [f"role {r.instances} {r.slots} {r.min_failed} {r.min_succeeded} {r.retries}" for r in self.roles]
        term = [] if self.term is None else [f"term {self.term}"]
        return "\n".join([*head, *self.lines, *term, "go", ""])

    def outcome(self) -> Decision:
        (words,) = [line.split() for line in self.said if line.startswith("outcome ")]
        trigger = None
        if words[5] != "none":
            trigger = (words[5], int(words[6]), int(words[7]), int(words[8]))
        return Decision(words[1], int(words[2]), words[3], trigger)

    def decided_at(self) -> int:
        (words,) = [line.split() for line in self.said if line.startswith("outcome ")]
        return int(words[4])

    def states(self) -> dict[str, tuple[str, int]]:
        rows = [line.split() for line in self.said if line.startswith("task ")]
        return {row[1]: (row[2], int(row[3])) for row in rows}


def run(cases: list[Case]) -> None:
    """Let one bash run the cases."""
    script = f"set -u\nreadonly PSL_FOLDER=/nowhere\n{sourced(PSL_FOLDER='NO_FOLDER')}\n{HARNESS}\nrun_cases\n"
    done = subprocess.run(
        # A program of its own watches the time: it is there when the tests have been killed.
        ["timeout", "--signal=KILL", "240", "bash", "-c", script],
        input="".join(case.text() for case in cases),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    parts = done.stdout.split("end\n")[:-1]
    assert len(parts) == len(cases)
    for case, part in zip(cases, parts, strict=True):
        case.said = part.splitlines()


thresholds = st.integers(-1, 4).filter(bool)


@st.composite
def gang_cases(draw: st.DrawFn) -> Case:
    """Roles whose tasks each start and end once; lines come late, twice, or out of nowhere."""
    roles = [
        RoleModel(instances=draw(st.integers(1, 4)), min_failed=draw(thresholds), min_succeeded=draw(thresholds))
        for _ in range(draw(st.integers(1, 3)))
    ]
    case = Case(roles=roles, lines=[], of_job=draw(st.sampled_from([-1, -1, 1, 2, 3, 5])))
    tasks = [(position, index) for position, role in enumerate(roles) for index in range(role.instances)]
    moments = sorted(draw(st.lists(st.integers(1, 8), min_size=len(tasks), max_size=len(tasks))))
    for moment, (position, index) in zip(moments, draw(st.permutations(tasks)), strict=True):
        status, code, behaviour = draw(st.sampled_from(ENDS))
        time = START + moment
        line = f"exit {position} {index} {index} 0 {status} {code} {behaviour} {time}"
        termed = draw(st.sampled_from([False, False, True]))
        case.lines.append(f"at {START} start {position} {index} {index} 0 n1 1 {START}")
        if termed:
            case.lines.append(f"at {draw(st.integers(START, time))} term {position} {index} {index} 0")
        case.lines.append(f"at {time} {line}")
        if draw(st.booleans()):
            noise = draw(
                st.sampled_from(
                    [
                        line,
                        line + " more",
                        f"exit {position} 0 99 0 1 255 unknown 1",
                        "exit",
                        "exit 0",
                        "hello",
                        "step",
                        f"exit {position} 0 0 0 x[0] 1 unknown 1",
                    ]
                )
            )
            case.lines.append(f"at {time} {noise}")
        case.exits.append(Exit(time, position, index, status, code, behaviour, termed))
    return case


@settings(MADE, max_examples=20)
@given(st.lists(gang_cases(), min_size=BATCH, max_size=BATCH))
def test_completion(cases: list[Case]) -> None:
    run(cases)
    for case in cases:
        expected = decide(case.roles, case.exits, case.of_job)
        assert case.outcome() == expected, case.text()
        trigger = case.outcome().trigger
        if trigger is not None:
            rule, role, index, _ = trigger
            assert case.states()[f"{role}.{index}"][0] == ("failed" if rule == "C2" else "succeeded")
        last = max(each.accepted for each in case.exits)
        assert case.decided_at() <= last


@settings(MADE, max_examples=8)
@given(st.lists(st.tuples(gang_cases(), st.integers(1, 12)), min_size=BATCH, max_size=BATCH))
def test_an_end_from_outside(drawn: list[tuple[Case, int]]) -> None:
    """TERM to the script is the reason for deaths of the last two seconds, and for nothing that was decided before."""
    cases = [case for case, _ in drawn]
    for case, moment in drawn:
        case.term = START + moment
    run(cases)
    for case in cases:
        assert case.term is not None
        accepted = [each for each in case.exits if each.accepted < case.term]
        if case.outcome().outcome == "interrupted":
            assert case.outcome() == Decision("interrupted", -210, "stop")
            assert case.decided_at() == case.term
        else:
            assert case.decided_at() < case.term
            assert case.outcome() == decide(case.roles, case.exits, case.of_job)
        open_before = [each for each in case.exits if each.time < case.term <= each.accepted]
        if not open_before and decide(case.roles, accepted, case.of_job) is not None:
            assert case.outcome() == decide(case.roles, accepted, case.of_job)


@settings(MADE, max_examples=8)
@given(st.lists(st.tuples(gang_cases(), st.integers(1, 12)), min_size=BATCH, max_size=BATCH))
def test_a_lost_node(drawn: list[tuple[Case, int]]) -> None:
    """It ends a job that nothing has ended before, at once and whatever the thresholds are."""
    cases = [case for case, _ in drawn]
    for case, moment in drawn:
        case.lines.append(f"at {START + moment} lost 0 n1")
    run(cases)
    for case, moment in drawn:
        if case.outcome() == Decision("failed", -1001, "transient"):
            assert case.decided_at() == START + moment
            unsettled = [each for each in case.exits if each.time <= START + moment]
            ended = {f"{each.role}.{each.index}" for each in unsettled}
            assert {state for task, (state, _) in case.states().items() if task not in ended} <= {"failed"}
        else:
            assert case.decided_at() <= START + moment
            assert case.outcome() == decide(case.roles, case.exits, case.of_job)


@settings(MADE, max_examples=8)
@given(
    st.lists(
        st.tuples(gang_cases(), st.integers(1, 12), st.none() | st.integers(1, 14)), min_size=BATCH, max_size=BATCH
    )
)
def test_a_launch_that_fails(drawn: list[tuple[Case, int, int | None]]) -> None:
    """It ends a job that nothing has ended before, unless TERM comes within two seconds; nothing counts meanwhile."""
    cases = [case for case, _, _ in drawn]
    for case, moment, term in drawn:
        case.lines.append(f"at {START + moment} unlaunched 0 n1")
        case.term = None if term is None else START + term
    run(cases)
    for case, moment, _ in drawn:
        if case.outcome() == Decision("failed", -1402, "transient"):
            assert case.decided_at() == START + moment + 2
            assert case.term is None or case.term >= case.decided_at()
        elif case.outcome().outcome == "interrupted":
            assert case.decided_at() == case.term
            assert case.decided_at() <= START + moment + 2
        else:
            assert case.decided_at() <= START + moment
            assert case.outcome() == decide(case.roles, case.exits, case.of_job)


@st.composite
def slot_cases(draw: st.DrawFn) -> Case:
    """Tasks that take turns in slots; each attempt of each is made up beforehand."""
    roles = [
        RoleModel(
            instances=draw(st.integers(1, 4)),
            min_failed=draw(st.sampled_from([-1, -1, 1, 2])),
            min_succeeded=draw(st.sampled_from([-1, -1, 1, 3])),
            slots=draw(st.integers(1, 3)),
            retries=draw(st.sampled_from([0, 1, 2, 3, -1, -2])),
        )
        for _ in range(draw(st.integers(1, 2)))
    ]
    case = Case(roles=roles, lines=[], gang=False, ceiling=draw(st.integers(0, 3)), restarts=draw(st.integers(0, 3)))
    for position, role in enumerate(roles):
        for index in range(role.instances):
            for attempt in range(draw(st.integers(0, 6))):
                end = draw(st.sampled_from(ENDS))
                case.runs[position, index, attempt] = (draw(st.integers(1, 4)), *end)
    for (position, index, attempt), end in case.runs.items():
        case.lines.append(f"run {position} {index} {attempt} {' '.join(map(str, end))}")
    return case


@settings(MADE, max_examples=15)
@given(st.lists(slot_cases(), min_size=BATCH, max_size=BATCH))
def test_task_retry(cases: list[Case]) -> None:
    """Every attempt that was ordered had to be, in time, and none is missing; the outcome is that of the last exits."""
    run(cases)
    for case in cases:
        orders = [tuple(map(int, line.split()[1:])) for line in case.said if line.startswith("ordered ")]
        assert max(Counter(order[:3] for order in orders).values(), default=1) == 1, "an attempt ran twice"
        at = {order[:3]: order[3] for order in orders}
        decided = case.decided_at()
        arrived = [line.split() for line in case.said if line.startswith("exited ")]
        order = {(int(words[1]), int(words[3])): position for position, words in enumerate(arrived)}
        exits: list[Exit] = []
        for position, role in enumerate(case.roles):
            for index in range(role.instances):
                exits += lived(case, at, position, index, role, decided)
        exits.sort(key=lambda each: order[each.role, each.index])
        assert case.outcome() == decide(case.roles, exits), case.text()


def lived(
    case: Case, at: dict[tuple[int, ...], int], position: int, index: int, role: RoleModel, decided: int
) -> list[Exit]:
    """Follow one task through its attempts, and return its last exit if it was believed before the decision."""
    retries = TaskRetries(limit=role.retries, ceiling=case.ceiling, restarts=case.restarts)
    attempt = 0
    while (position, index, attempt) in at:
        began = at[position, index, attempt]
        seconds, status, code, behaviour = case.runs.get((position, index, attempt), (1, 0, 0, "success"))
        end = Exit(began + seconds, position, index, status, code, behaviour)
        if end.accepted > decided:
            return []
        delay = retries.delay(behaviour)
        if delay is None:
            assert (position, index, attempt + 1) not in at, (
                f"a retry that should not be: {position}.{index}\n{case.text()}\n{case.said}"
            )
            return [end]
        again = at.get((position, index, attempt + 1))
        if again is None:
            assert decided <= end.accepted + delay + 60, (
                f"a retry is missing: {position}.{index}\n{case.text()}\n{case.said}"
            )
            return []
        assert again >= end.time + delay, f"a retry came too early: {position}.{index}\n{case.text()}\n{case.said}"
        attempt += 1
    return []


def test_a_line_that_comes_when_the_second_is_up_is_whole(tmp_path: Path) -> None:
    """`read -t` gives up in the middle of a line; what it has read by then must not be lost."""
    code = """
        mkfifo "$0" && exec {PSL_EVENT_FD}<>"$0"
        { printf 'exit 0 0 0'; sleep 1.5; printf ' 0 7 255 unknown 1\\nfree 0 0\\n'; } >"$0" &
        until read_words "$PSL_EVENT_FD"; do :; done
        echo "${PSL_WORDS[*]}"
        read_words "$PSL_EVENT_FD"; echo "${PSL_WORDS[*]}"
    """
    script = f"set -u\n{sourced()}\n{code}"
    done = subprocess.run(
        ["bash", "-c", script, tmp_path / "events"], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "exit 0 0 0 0 7 255 unknown 1\nfree 0 0\n"

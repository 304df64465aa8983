"""The bash retries tasks as the model does."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.app.what_if.completion_model import Exit, RoleModel, TaskRetries, decide

from .supervision_cases import BATCH, ENDS, MADE, Case, run


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


@settings(MADE, max_examples=10)
@given(st.lists(slot_cases(), min_size=BATCH, max_size=BATCH))
def test_task_retries_match_the_model(cases: list[Case]) -> None:
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

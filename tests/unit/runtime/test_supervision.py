"""The bash decides as the model does: completion, ties, and ends from outside."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.app.what_if.completion_model import Decision, Exit, RoleModel, decide

from .bash import run as run_bash
from .supervision_cases import BATCH, ENDS, MADE, START, Case, run

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


@settings(MADE, max_examples=12)
@given(st.lists(gang_cases(), min_size=BATCH, max_size=BATCH))
def test_completion_matches_the_model(cases: list[Case]) -> None:
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


def made(*ends: tuple[int, int, int, int, str]) -> Case:
    """Return two roles of two tasks; the first exit decides. Tasks end at one moment, in this order of arrival."""
    case = Case(roles=[RoleModel(instances=2, min_failed=1, min_succeeded=1)] * 2, lines=[])
    for role, index, *end in ends:
        case.lines.append(f"at {START} start {role} {index} {index} 0 n1 1 {START}")
        case.lines.append(f"at {START + 1} exit {role} {index} {index} 0 {' '.join(map(str, end))} {START + 1}")
        case.exits.append(Exit(START + 1, role, index, *end))
    return case


GOOD, BAD = (0, 0, "success"), (1, 255, "unknown")


@pytest.mark.parametrize(
    ("first", "second", "trigger"),
    [
        ((0, 0, *GOOD), (0, 1, *BAD), ("C2", 0, 1, 1)),
        ((1, 0, *BAD), (0, 1, *GOOD), ("C3", 0, 1, 1)),
        ((1, 0, *BAD), (0, 1, *BAD), ("C2", 0, 1, 1)),
    ],
)
def test_in_a_tie_the_earlier_role_decides_and_failure_before_success(
    first: tuple[int, int, int, int, str], second: tuple[int, int, int, int, str], trigger: tuple[str, int, int, int]
) -> None:
    run([case := made(first, second)])
    assert case.outcome() == decide(case.roles, case.exits)
    assert case.outcome().trigger == trigger


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ((143, 143, "transient"), "interrupted"),
        ((137, 137, "transient"), "interrupted"),
        ((137, -1200, "permanent"), "failed"),
        (BAD, "failed"),
    ],
)
def test_a_death_by_term_or_kill_just_before_the_end_of_the_job_decides_nothing(
    end: tuple[int, int, str], outcome: str
) -> None:
    case = made((0, 0, *end))
    case.term = START + 2
    run([case])
    assert case.outcome().outcome == outcome


@settings(MADE, max_examples=5)
@given(st.lists(st.tuples(gang_cases(), st.integers(1, 12)), min_size=BATCH, max_size=BATCH))
def test_an_external_termination_matches_the_model(drawn: list[tuple[Case, int]]) -> None:
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


@settings(MADE, max_examples=5)
@given(st.lists(st.tuples(gang_cases(), st.integers(1, 12)), min_size=BATCH, max_size=BATCH))
def test_a_lost_node_ends_the_job_at_once(drawn: list[tuple[Case, int]]) -> None:
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


@settings(MADE, max_examples=5)
@given(
    st.lists(
        st.tuples(gang_cases(), st.integers(1, 12), st.none() | st.integers(1, 14)), min_size=BATCH, max_size=BATCH
    )
)
def test_a_failed_launch_matches_the_model(drawn: list[tuple[Case, int, int | None]]) -> None:
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


def test_a_step_that_starts_after_the_decision_gets_term_once_and_then_kill() -> None:
    code = """
        PSL_OUTCOME=failed PSL_STOP_AT=1005 PSL_STEP_RUNNING=(1 1)
        signal_steps() { printf '%s\\n' "$*"; }
        PSL_NOW=1000 && on_start 1 0 0 0 n1 3 1000
        stop_late_steps && stop_late_steps
        PSL_NOW=1005 && stop_late_steps
    """
    assert run_bash(code) == "TERM 1\nKILL 0 1\n"
    # Slurm has signalled all steps of a job that it ends.
    assert run_bash(f"PSL_SLURM_ENDS=1\n{code}") == "KILL 0 1\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("TERM", "interrupted: the job was told to end from outside: see Slurm's accounting for the reason"),
        ("USR1", "failed (code -1004): the time limit is near: tasks were told to end"),
    ],
)
def test_the_log_names_an_exit_code_only_if_the_script_knows_it(name: str, says: str) -> None:
    """Of a time limit that comes without a warning Slurm alone knows: the job has its code, not that of a cancel."""
    log, code = run_bash(f'finish() {{ echo "$PSL_OUTCOME_CODE"; }}; on_signal {name} 2>&1').splitlines()
    assert (log, code in ("-210", "-1004")) == (f"paislurm: {says}", True)

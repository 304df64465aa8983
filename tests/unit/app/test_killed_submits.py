"""A submit that is killed before any of its effects: no job is lost, none runs twice, and no path is used twice.

The simulator's processes stop before each call of the system that reads or changes a shared file, and before each call
to Slurm.
"""

from __future__ import annotations

from itertools import count

import pytest

from paislurm.translator.state.journal_records import Submitted
from tests.simulation.history import play
from tests.simulation.invariants import folders, records_of
from tests.simulation.moments import Moments
from tests.simulation.people import People

ONE_MACHINE, NFS = (0, 0), (0, 1)
AFTER = ("submit", "cancel", "status", "remove", "monitor")
BEFORE: dict[str, tuple[tuple[str, float], ...]] = {
    "first": (),
    "ended": (("submit", 0), ("monitor", 900)),
    "not recorded": (("submit", 0),),
    "removed": (("submit", 0), ("monitor", 900), ("remove", 1000)),
}
"""What happened to the name before, by a name, and when, in seconds."""
KILLED_AT = 2000.0


def killed(number: int, before: str, given: tuple[int, int]) -> tuple[str, bool]:
    """Kill a submit before its effect with a number; return the broken promise, "" for none, and whether it died."""
    name, after, died, seen = "ab"[number % 2], AFTER[number % len(AFTER)], [], []

    def begin(people: People, _: Moments) -> None:
        world, steps, step = people.world, count(), people.world.step
        for what, delay in BEFORE[before]:
            people.start(what, name, "login1", delay)
        victim = people.start("submit", name, "login1", KILLED_AT)
        seen.append(people)

        def stop(*what: object) -> None:
            if world.current is victim and next(steps) == number:
                died.append(what)
                world.kills += 1
                victim.kill()
                victim.when_killed()
            step(*what)

        world.step = stop  # type: ignore[method-assign]
        people.start(after, name, "login2", KILLED_AT + 5)
        people.start("submit", name, "login2", KILLED_AT + 300)

    violation = play(given=given, begin=begin).violation
    return violation or _lost(seen[0]), bool(died)


def _lost(people: People) -> str:
    """Return the job that Slurm accepted and no journal has, "" if there is none."""
    records = [each for _, folder in folders(people.witness.server) for each in records_of(folder)]
    known = {record.job_id for record in records if isinstance(record, Submitted)}
    jobs = people.slurm.jobs.values()
    lost = [job.id for job in jobs if job.submission.tag not in people.removed and job.id not in known]
    return f"lost: {lost}" if lost or not people.submitted else ""


@pytest.mark.parametrize("given", [ONE_MACHINE, NFS], ids=["one machine", "NFS"])
@pytest.mark.parametrize("before", BEFORE)
def test_a_submit_that_is_killed_before_an_effect_loses_nothing(before: str, given: tuple[int, int]) -> None:
    broken = {}
    for number in count():
        violation, died = killed(number, before, given)
        if violation:
            broken[number] = violation
        if not died:
            break
    assert (broken, number > 50) == ({}, True)

"""What happens in a history: a free mix of commands, or a scenario drawn from a few that aim at a race."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .moments import MOMENTS, When
from .people import GROUP, MEMBERS, NAMES, OPERATIONS
from .slurm import Weather
from .witness import STALE_SECONDS

if TYPE_CHECKING:
    from .moments import Moments
    from .people import People
    from .world import Choices, World

HOSTS = ("login1", "login2")
DELAYS = (None, 0.0, 5.0, 100.0, 1000.0)
"""Seconds until a command of the free mix; None: in the middle of something."""
PAUSES = (1.0, 5.0, 70.0, 250.0)
"""Seconds for which a process stops at a moment, while others go on: shorter and longer than a lock lasts."""
VISITS = (30.0, 90.0, 250.0, 500.0, 700.0, 1000.0)
"""Seconds after which monitors run: jobs wait for 1 to 200 s, and run for 5 to 600 s."""


class Scenario(NamedTuple):
    """A race: at one of `moments` of a process of `title`, `starts` begin there, and it pauses for one of `pauses`.

    `comes` is a command that starts beside the monitors, `usual_end` is how jobs end mostly, `tears` whether the disk
    may be full, `dies` whether the process may die.
    """

    what: str
    moments: tuple[str, ...]
    title: str = ""
    starts: tuple[tuple[str, str], ...] = ()
    pauses: tuple[float, ...] = (1.0,)
    comes: str = ""
    usual_end: str = ""
    tears: bool = False
    dies: bool = False
    nth: int = 3


_RETRYING = ("after read", "before retry", "after retry", "before intent", "after intent", "before sbatch")
SCENARIOS = (
    Scenario("cancel while a monitor retries", _RETRYING, "monitor", (("cancel", "a"),), usual_end="failed", nth=6),
    Scenario(
        "cancel during a submit", ("after publish", "before sbatch", "after sbatch", "before submitted"),
        "submit", (("cancel", "a"),), (1.0, 5.0), nth=1,
    ),
    Scenario(
        "submit of a name while the end of its job is recorded",
        ("before ended", "before forget secrets", "after read", "after poll"),
        "monitor", (("submit", "a"),), (1.0, 5.0), usual_end="succeeded",
    ),
    Scenario(
        "two submits of one name", ("after read", "before publish", "after publish", "before sbatch"),
        "submit", (("submit", "a"),), usual_end="succeeded",
    ),
    Scenario(
        "a monitor stands still, and another takes over", (*_RETRYING, "after sbatch", "before ended", "after poll"),
        "monitor", (("monitor", ""), ("submit", "a")), (70.0, 250.0), usual_end="failed", nth=4,
    ),
    Scenario(
        "two monitors at once", ("after lock taken", "after lock released", *_RETRYING), "monitor", (("monitor", ""),),
        (1.0, 5.0), usual_end="transient", nth=4,
    ),
    Scenario("a full disk", tuple(f"before {kind}" for kind in ("retry", "intent", "submitted", "ended", "cancelled")),
             tears=True, usual_end="failed"),
    Scenario("a process dies", (*_RETRYING, "after sbatch", "before ended", "after publish"), dies=True,
             usual_end="failed"),
    Scenario("remove while a job ends", ("after read", "before ended", "after poll"), "",
             (("remove", "a"), ("submit", "a")), (1.0, 5.0, 70.0), usual_end="succeeded"),
    Scenario("remove beside a submit of the same name", ("after read", "after poll", "before ended", "before hide"),
             "remove", (("submit", "a"),), (1.0, 5.0), comes="remove", usual_end="succeeded", nth=2),
    Scenario("failures without end", (), usual_end="failed"),
    Scenario("update while a monitor retries", _RETRYING, "monitor", (("update", "a"),), usual_end="failed", nth=6),
)  # fmt: skip


def begin(people: People, moments: Moments) -> None:
    """Draw what happens, and start it."""
    world, choices = people.world, people.world.choices
    people.slurm.weather = _weather(choices, world.now)
    people.start("submit", "a", "login1", 0.0)
    drawn = choices.choose(len(SCENARIOS) + 3)
    if drawn < 2:
        _mix(world, people, 6)
    elif drawn == 2:
        _visits(choices, people)
        for _ in range(1 + choices.choose(3)):
            moments.plan.append(_any_moment(choices, people))
        _mix(world, people, 3)
    else:
        scenario = SCENARIOS[drawn - 3]
        world.tell(f"scenario: {scenario.what}")
        people.slurm.usual_end = scenario.usual_end
        _visits(choices, people)
        if scenario.comes:
            people.start(scenario.comes, "a", HOSTS[choices.choose(2)], VISITS[choices.choose(len(VISITS))] + 1)
        if scenario.moments:
            moments.plan.append(_aimed(scenario, choices, people))
        _mix(world, people, 3)


def begin_with_losses(people: People, moments: Moments) -> None:
    """Draw what happens, and start it; Slurm loses some of the jobs that wait."""
    people.slurm.loses_jobs = True
    begin(people, moments)


def begin_with_a_sweep(people: People, moments: Moments) -> None:
    """Draw what happens beside a paced sweep, and start it."""
    choices, slurm = people.world.choices, people.slurm
    slurm.weather = _weather(choices, people.world.now)
    slurm.usual_end = ("", "succeeded", "failed")[choices.choose(3)]
    people.start("sweep", str(2 * choices.choose(2)), "login1", 0.0)
    for delay in (1.0, 5.0, *VISITS):
        if kind := choices.choose(4):
            people.start("monitor", "", HOSTS[kind % 2], delay)
    races = [each for each in SCENARIOS if each.moments]
    for _ in range(choices.choose(3)):
        moments.plan.append(_aimed(races[choices.choose(len(races))], choices, people))
    for _ in range(choices.choose(3)):
        what, name = ("cancel", "status", "remove")[choices.choose(3)], f"{GROUP}{choices.choose(MEMBERS)}"
        people.start(what, name, HOSTS[choices.choose(2)], VISITS[choices.choose(len(VISITS))])


def _weather(choices: Choices, now: float) -> Weather:
    kind = choices.choose(4, 0.3)
    limit = now + (0.5, 100.0, 700.0)[choices.choose(3)] if kind == 1 else 0.0
    return Weather(limit, lag=600.0 if kind == 2 else 0.0, age=45.0 if kind == 3 else 0.0)


def _mix(world: World, people: People, most: int) -> None:
    choices = world.choices
    for _ in range(choices.choose(most)):
        what = OPERATIONS[choices.choose(len(OPERATIONS))]
        delay = DELAYS[choices.choose(len(DELAYS))]
        name, host = NAMES[choices.choose(len(NAMES), 0.3)], HOSTS[choices.choose(2)]
        if delay is None:
            world.waiting.append(partial(people.start, what, name, host))
        else:
            people.start(what, name, host, delay)


def _visits(choices: Choices, people: People) -> None:
    """Start monitors, and sometimes another submit of the name."""
    for delay in VISITS:
        kind = choices.choose(4)
        if kind == 3:
            people.start("submit", "a", HOSTS[choices.choose(2)], delay)
        elif kind:
            people.start("monitor", "", HOSTS[kind - 1], delay)


def _aimed(scenario: Scenario, choices: Choices, people: People) -> When:
    start = scenario.starts[choices.choose(len(scenario.starts))] if scenario.starts else None
    host = HOSTS[choices.choose(2)]
    pause = scenario.pauses[choices.choose(len(scenario.pauses))] if start else 0.0
    late = pause - 4 if pause > STALE_SECONDS else 0.0
    return When(
        moment=scenario.moments[choices.choose(len(scenario.moments))],
        title=scenario.title,
        nth=1 + choices.choose(scenario.nth),
        starts=(partial(people.start, *start, host, late),) if start else (),
        pause=pause,
        torn=choices.choose(100) if scenario.tears else -1,
        dies=scenario.dies,
    )


def _any_moment(choices: Choices, people: People) -> When:
    what = OPERATIONS[choices.choose(len(OPERATIONS))]
    start = partial(people.start, what, NAMES[choices.choose(2, 0.2)], HOSTS[choices.choose(2)])
    return When(
        moment=MOMENTS[choices.choose(len(MOMENTS))],
        nth=1 + choices.choose(4),
        starts=(start,),
        pause=PAUSES[choices.choose(len(PAUSES), 0.5)],
        dies=bool(choices.choose(2, 0.2)),
    )

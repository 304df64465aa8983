"""A history: people submit, cancel, change and remove jobs of two names on two login nodes, and what must hold then.

When all is over, faults end and a monitor works until nothing is left to do. Then the invariants are checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.translator.state import kept_script

from .files import Server
from .invariants import check, folders, journal
from .moments import Moments, watched
from .people import HOME, People
from .scenarios import begin as begin_any
from .slurm import Slurm
from .syscalls import ROOT, simulated
from .witness import ViolationError, Witness
from .world import Choices, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Begin = Callable[[People, Moments], None]

MAX_ROUNDS = 40


class Outcome(Struct):
    """What a history came to. `violation` is "" if everything held."""

    violation: str
    choices: list[int]
    story: list[str]
    operations: int
    jobs: int
    seconds: float


def play(
    seed: int = 0, given: Sequence[int] | None = None, *, telling: bool = False, begin: Begin = begin_any
) -> Outcome:
    """Play a history by a seed, or by the choices of an earlier one; `begin` starts what happens in it."""
    choices = Choices(seed, given)
    world = World(choices, faults=choices.choose(4), telling=telling)
    server = Server(world, cached=bool(choices.choose(2)))
    witness, moments = Witness(world, server), Moments(world)
    witness.slurm = slurm = Slurm(world, server, witness, moments)
    people = People(world, slurm, witness)
    # What a process remembers ends with it; here all processes are one.
    kept_script._body.cache_clear()
    violation = ""
    with simulated(world, server) as calls, watched(moments, witness):
        calls.client.mkdir(ROOT, 0o755)
        calls.client.mkdir(HOME, 0o700)
        try:
            begin(people, moments)
            world.run()
            world.faults = 0
            moments.plan.clear()
            _settle(world, people, server)
            check(people, server)
        except ViolationError as error:
            violation = str(error)
        made = choices.made
        world.end()
    return Outcome(violation, made, world.story, people.count, len(slurm.jobs), world.now)


def _settle(world: World, people: People, server: Server) -> None:
    """Let monitors work until every job has ended, and in a third of the histories one more."""
    for number in range(MAX_ROUNDS):
        if all(journal(folder).ended is not None for _, folder in folders(server)) and (
            number or world.choices.choose(3) < 2
        ):
            return
        people.start("monitor", "", f"login{1 + number % 2}", min(3600, 400 << max(0, number - 2)))
        world.run()
    alive = [name for name, folder in folders(server) if journal(folder).ended is None]
    if alive:
        raise ViolationError(f"it never ended: {', '.join(alive)}")

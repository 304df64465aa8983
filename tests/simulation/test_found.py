"""Bugs that histories have found, each as the shortest history that showed it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from .batch import NODE
from .history import play
from .moments import When

if TYPE_CHECKING:
    from .moments import Moments
    from .people import People

ONE_MACHINE, NFS = (0, 0), (0, 1)
"""The first two choices: no faults, and without or with the caches of NFS. 0 follows: each job succeeds at once."""


def test_a_submit_of_the_name_of_a_job_that_is_being_given_up_keeps_its_attempt() -> None:
    def begin(people: People, moments: Moments) -> None:
        people.start("submit", "a", "login1")
        people.start("monitor", "", "login1", 500.0)
        moments.plan += [
            When("after publish", "submit", dies=True),
            When("after search", "monitor", starts=(partial(people.start, "submit", "a", "login2"),), pause=5.0),
        ]

    assert play(given=ONE_MACHINE, begin=begin).violation == ""


def test_a_job_with_the_name_of_an_earlier_one_finds_its_folder_on_nfs() -> None:
    def begin(people: People, _: Moments) -> None:
        people.start("submit", "a", "login1")
        people.start("submit", "a", "login1", 6.5)

    assert play(given=NFS, begin=begin).violation == ""


@pytest.mark.parametrize("moment", ["after publish", "before sbatch"])
def test_a_submit_that_stalls_until_it_is_given_up_leaves_no_secrets(moment: str) -> None:
    def begin(people: People, moments: Moments) -> None:
        people.start("submit", "a", "login1")
        moments.plan.append(
            When(moment, "submit", starts=(partial(people.start, "monitor", "", "login2", 200.0),), pause=250.0)
        )

    assert play(given=ONE_MACHINE, begin=begin).violation == ""


def test_a_submit_that_stalls_until_its_name_is_taken_leaves_the_other_job_alone() -> None:
    def begin(people: People, moments: Moments) -> None:
        people.start("submit", "a", "login1")
        again = partial(people.start, "submit", "a", "login2", 200.0)
        moments.plan.append(When("after publish", "submit", starts=(again,), pause=201.0))

    assert play(given=ONE_MACHINE, begin=begin).violation == ""


def test_a_job_whose_name_is_taken_stays_ended_when_its_node_is_drained_later() -> None:
    def begin(people: People, moments: Moments) -> None:
        people.slurm.usual_end = "cancelled by root"
        people.start("submit", "a", "login1")
        people.start("submit", "a", "login1", 100.0)
        people.start("monitor", "", "login2", 99.99)
        drains = partial(people.slurm.drained.__setitem__, NODE, "Prolog error")
        moments.plan += [
            When("after lock taken", "monitor", pause=1.0),
            When("after publish", "submit", nth=2, starts=(drains,)),
        ]

    assert play(given=ONE_MACHINE, begin=begin).violation == ""


def test_a_cancel_that_stalls_until_its_name_is_taken_leaves_the_other_job_alone() -> None:
    def begin(people: People, moments: Moments) -> None:
        people.slurm.usual_end = "failed"
        people.start("submit", "a", "login1")
        people.start("cancel", "a", "login1", 5.0)
        again = partial(people.start, "submit", "a", "login2", 5.0)
        moments.plan.append(When("after cancelled", "cancel", starts=(again,), pause=30.0))

    assert play(given=ONE_MACHINE, begin=begin).violation == ""

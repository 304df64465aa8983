"""A simulated Slurm whose jobs wait for hours."""

from __future__ import annotations

from tests.simulation.batch import Batch
from tests.simulation.slurm import Slurm

LIFE = 4 * 3600
"""The longest time that a job waits for nodes."""


class _PatientBatch(Batch):
    """A job that waits for hours."""

    def _waits(self, seconds: float) -> bool:
        world = self._world
        until = world.now + world.choices.choose(LIFE)
        while world.now < until and not self._job.cancelled:
            world.sleep(min(300, until - world.now))
        return super()._waits(seconds)


class PatientSlurm(Slurm):
    """A Slurm of such jobs, which counts the calls that it answers."""

    batch = _PatientBatch
    answers = 0

    def _ask(self, what: str) -> None:
        super()._ask(what)
        self.answers += 1

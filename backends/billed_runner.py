"""Run programs, and say what that cost: how often Slurm is asked, and the CPU time of asking."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .runner import CommandRunner, Completed


class BilledRunner:
    """Run programs by another runner. `charge` is told of each: its arguments, its CPU seconds, whether it failed."""

    def __init__(self, runner: CommandRunner, charge: Callable[[Sequence[str], float, bool], None]) -> None:
        self._runner = runner
        self._charge = charge

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        """Run a program; see CommandRunner. What was not answered has been asked all the same."""
        before, failed = _children(), True
        try:
            done = self._runner.run(argv, stdin=stdin, env=env, base=base, timeout=timeout)
            failed = bool(done.status)
            return done
        finally:
            self._charge(argv, _children() - before, failed)


def _children() -> float:
    """Return the CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

"""Run programs, and say what that cost: how often Slurm is asked, and the CPU time of asking."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Literal

from .slurm.refusals import NOT_CONNECTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from .runner import CommandRunner, Completed

    CallEnd: TypeAlias = Literal["ok", "failed", "unreached"]
    """How a call of a program ended; `unreached` where no daemon of Slurm got the request."""
    Charge: TypeAlias = Callable[[Sequence[str], float, CallEnd], None]


def call_end(status: int | None, stderr: str) -> CallEnd:
    """Return how a call ended by its exit status and the words on its standard error."""
    if status == 0:
        return "ok"
    return "unreached" if NOT_CONNECTED in stderr else "failed"


class BilledRunner:
    """Run programs by another runner. `charge` is called for each: its arguments, its CPU seconds, how it ended."""

    def __init__(self, runner: CommandRunner, charge: Charge) -> None:
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
        before, end = _children(), call_end(None, "")
        try:
            done = self._runner.run(argv, stdin=stdin, env=env, base=base, timeout=timeout)
            end = call_end(done.status, done.stderr)
            return done
        finally:
            self._charge(argv, _children() - before, end)


def _children() -> float:
    """Return the CPU seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

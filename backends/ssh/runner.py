"""Run programs on a login node: the same seam as for this machine, over either transport."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from paislurm.translator.errors import UnreachableError

from ..bounded_run import TooLongError
from ..runner import Completed, silent, too_long
from . import errors
from .command_line import outcome, request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .address import Address
    from .command_line import Outcome
    from .transport import Transport

SLACK = 20.0
"""Seconds beyond the time-out there, for the way and for what login profiles do."""
REFUSALS = ("E551", "E552", "E553")
FIRST_PAUSE, MAX_PAUSE = 60.0, 960.0
_TIMED_OUT, _FORBIDDEN, _NOT_FOUND, _SIGNALS = 124, 126, 127, 128
"""Source: timeout(1), EXIT STATUS; bash(1), EXIT STATUS."""


class SshRunner:
    """Run programs over a transport; see CommandRunner."""

    def __init__(self, address: Address, transport: Transport) -> None:
        self._address = address
        self._transport = transport
        self._refusal: UnreachableError | None = None
        self._pause, self._again_at = FIRST_PAUSE, 0.0

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,  # noqa: ARG002 - nor that
        timeout: float,
    ) -> Completed:
        """Run a program there to its end; without its end nobody knows what it did."""
        data = (stdin or "").encode(errors="surrogateescape")
        done = self.exchange(argv, stdin=data, env=env, timeout=timeout)
        return completed(self._address, argv, done, timeout)

    def exchange(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, timeout: float
    ) -> Outcome:
        """Run a program there, with bytes; UnreachableError unless its end is known.

        A login that was refused is not tried again for a while, for longer each time: sites lock out who insists.
        """
        if self._refusal is not None and time.monotonic() < self._again_at:
            raise self._refusal
        asked = request(argv, stdin, env or {}, timeout)
        try:
            done = outcome(asked, *self._transport.exchange(asked.line, asked.stdin, timeout + SLACK))
        except TooLongError:
            raise too_long(argv) from None
        except UnreachableError as error:
            if error.diagnostics[0].code in REFUSALS:
                self._refusal, self._again_at = error, time.monotonic() + self._pause
                self._pause = min(MAX_PAUSE, 2 * self._pause)
            raise
        self._refusal, self._pause = None, FIRST_PAUSE
        if done.status is None:
            raise errors.broken(self._address, argv[0])
        return done


def completed(address: Address, argv: Sequence[str], done: Outcome, timeout: float) -> Completed:
    """Return how a program ended there, as of one that ends here; UnreachableError where it said nothing in time."""
    assert done.status is not None
    if done.status == _TIMED_OUT:
        raise silent(argv, timeout)
    if done.status == _FORBIDDEN:
        raise errors.forbidden(address, argv[0])
    if done.status == _NOT_FOUND:
        raise errors.missing(address, argv[0])
    status = -signal if (signal := done.status - _SIGNALS) in range(1, 65) else done.status
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Completed(status=status, stdout=stdout, stderr=stderr)

"""Run programs on a login node, over either transport, with the interface for this machine.

Any login shell (bash, tcsh, fish) can read the line that is sent. Start files may print anything before the program
starts, and go on after it. Nothing of paislurm is installed there: scripts are bash and are sent with each call.
"""

from __future__ import annotations

import re
import shlex
import time
from base64 import b64encode
from functools import cache
from os import urandom
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.translator.errors import UnreachableError
from paislurm.translator.shipped import shipped_text

from ..bounded_run import TooLongError
from ..runner import KEPT, LEAKING, Completed, silent, too_long
from . import faults

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .transport import Address, Transport

SLACK = 20.0
"""Seconds added to the remote time-out, for the connection and the login profiles."""
REFUSALS = ("E551", "E552", "E553")
FIRST_PAUSE, MAX_PAUSE = 60.0, 960.0
_TIMED_OUT, _FORBIDDEN, _NOT_FOUND, _SIGNALS = 124, 126, 127, 128
"""Source: timeout(1), EXIT STATUS; bash(1), EXIT STATUS."""

_SHELL_SECONDS = 9.0
"""How long a login shell may take for its start file; profiles of `bash -l` may take all of SLACK."""
_TAIL = 1 << 18
"""Bytes to search for the end of a program: more than a transport reads at a time."""

_SIGN = b"\npaislurm-shell\n"
_RECEIVE = (
    'exec bash -c \'IFS=" " read -r word script && [ "$word" = paislurm ] && printf "\\n%s-shell\\n" $word && '
    'exec 3<&0 </dev/null && exec bash -lc "$(printf %s "$script" | base64 -d)"\''
)
"""The same line for every program. The first line of its input is the script, out of reach of profiles."""
_SCRUB = (
    f"for name in $(compgen -e); do case $name in {'|'.join(KEPT)}) ;; "
    f'{"|".join(f"{prefix}*" for prefix in LEAKING)}) unset "$name" ;; esac; done'
)
_KILL_SECONDS = 5
_START_FILES = "~/.bashrc, ~/.zshenv, ~/.cshrc or config.fish"
_PROFILES = "/etc/profile, ~/.bash_profile, ~/.bash_login or ~/.profile"
"""What a login shell reads before a command, and `bash -l`. Source: bash(1), zsh(1), tcsh(1), fish(1)."""
_END = rb"\n%b ([0-9]{1,3})\n"


class Request(Struct, frozen=True, kw_only=True):
    """Hold a line for a login shell, its input, and the mark that separates a program's output from the profiles'."""

    line: str
    stdin: bytes
    mark: bytes


class Outcome(Struct, frozen=True, kw_only=True):
    """Hold a program's output; `began` is false if it printed nothing, `status` is None if its end is not known."""

    began: bool
    status: int | None
    stdout: bytes
    stderr: bytes


def request(argv: Sequence[str], stdin: bytes, env: Mapping[str, str], timeout: float) -> Request:
    """Return the request that runs a program for at most `timeout` seconds and reports its exit status."""
    mark = f"paislurm-{urandom(8).hex()}"
    script = [
        *_preamble(env),
        f"printf '\\n%s\\n' {mark} >&2",
        f"printf '\\n%s\\n' {mark}",
        shlex.join(["timeout", f"--kill-after={_KILL_SECONDS}", f"{timeout:g}", *argv]) + " <&3",
        f"set -- '\\n%s %s\\n' {mark} $?",
        'printf "$@" >&2',
        'printf "$@"',
    ]
    return Request(line=_RECEIVE, stdin=b"paislurm " + _encoded(script) + b"\n" + stdin, mark=mark.encode())


def attached(argv: Sequence[str]) -> str:
    """Return the line that runs a program in place of the shell, with the connection's terminal or streams."""
    script = _encoded([*_preamble({}), f"exec {shlex.join(argv)} <&3 3<&-"]).decode()
    return f"exec bash -c 'exec 3<&0 </dev/null && exec bash -lc \"$(echo {script} | base64 -d)\"'"


def _preamble(env: Mapping[str, str]) -> list[str]:
    """Return the lines before a program: they remove variables of Slurm and set ours."""
    return [_SCRUB, *(f"export {name}={shlex.quote(value)}" for name, value in env.items())]


def _encoded(lines: Sequence[str]) -> bytes:
    """Return a script as one word without characters special to any shell."""
    return b64encode("\n".join(lines).encode(errors="surrogateescape"))


def outcome(asked: Request, stdout: bytes, stderr: bytes) -> Outcome:
    """Return a program's output, without that of the start files before and after it."""
    start, end = b"\n" + asked.mark + b"\n", re.compile(_END % asked.mark)
    words = end.split(stderr.partition(start)[2] if start in stderr else stderr)[0]
    _, begun, rest = stdout.rpartition(start)
    if not begun:
        return Outcome(began=False, status=None, stdout=rest, stderr=words)
    text, *ended = end.split(rest, maxsplit=1)
    return Outcome(began=True, status=int(ended[0]) if ended else None, stdout=text, stderr=words)


class Watch:
    """Watch the output of a request: it is complete when the program has ended, or never begins."""

    def __init__(self, asked: Request) -> None:
        self._end = re.compile(_END % asked.mark)
        self._ended: set[int] = set()
        self._until: float | None = None
        self._is_in = False

    def is_over(self, stdout: bytes | bytearray, stderr: bytes | bytearray) -> bool:
        """Return whether both outputs are complete, or no sign of our shell has come in time."""
        if self._until is None:
            self._until = time.monotonic() + _SHELL_SECONDS
        self._is_in = self._is_in or _SIGN in stdout
        for number, text in enumerate((stdout, stderr)):
            if number not in self._ended and self._end.search(text, max(0, len(text) - _TAIL)):
                self._ended.add(number)
        return len(self._ended) == 2 or (not self._is_in and time.monotonic() > self._until)


def remote_script(name: str, *words: str) -> list[str]:
    """Return the command that runs a script of the folder `remote`, stripped of its comments."""
    return ["bash", "-c", _text(name), name, *words]


@cache
def _text(name: str) -> str:
    shared = shipped_text("templates/runtime/common/replaceable.sh") if name == "root" else ""
    lines = (shared + shipped_text(f"backends/ssh/remote/{name}.sh")).splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


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
        base: Mapping[str, str] | None = None,  # noqa: ARG002 - as in CommandRunner
        timeout: float,
    ) -> Completed:
        """Run a remote program to its end. Raises UnreachableError if its end is not known."""
        data = (stdin or "").encode(errors="surrogateescape")
        done = self.exchange(argv, stdin=data, env=env, timeout=timeout)
        return completed(self._address, argv, done, timeout)

    def exchange(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, timeout: float
    ) -> Outcome:
        """Run a remote program with bytes as input. Raises UnreachableError unless its end is known.

        After a refused login, wait before the next one, longer each time: sites lock out users who retry.
        """
        if self._refusal is not None and time.monotonic() < self._again_at:
            raise self._refusal
        asked = request(argv, stdin, env or {}, timeout)
        try:
            answer = self._transport.exchange(asked.line, asked.stdin, timeout + SLACK, Watch(asked).is_over)
        except TooLongError:
            raise too_long(argv) from None
        except ConnectionError:
            raise faults.broken(self._address, argv[0]) from None
        except UnreachableError as error:
            if error.diagnostics[0].code in REFUSALS:
                self._refusal, self._again_at = error, time.monotonic() + self._pause
                self._pause = min(MAX_PAUSE, 2 * self._pause)
            raise
        self._refusal, self._pause = None, FIRST_PAUSE
        done = outcome(asked, *answer)
        if not done.began:
            files = _PROFILES if _SIGN in done.stdout else _START_FILES
            raise faults.start_file(self._address, files, done.stderr.decode(errors="replace"))
        if done.status is None:
            raise faults.broken(self._address, argv[0])
        return done


def completed(address: Address, argv: Sequence[str], done: Outcome, timeout: float) -> Completed:
    """Return a remote program's result as that of a local one. Raises UnreachableError after a time-out."""
    assert done.status is not None
    if done.status == _TIMED_OUT:
        raise silent(argv, timeout)
    if done.status == _FORBIDDEN:
        raise faults.forbidden(address, argv[0])
    if done.status == _NOT_FOUND:
        raise faults.missing(address, argv[0])
    status = -signal if (signal := done.status - _SIGNALS) in range(1, 65) else done.status
    stdout, stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return Completed(status=status, stdout=stdout, stderr=stderr)

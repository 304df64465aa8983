"""What a login node is given, and what comes back: the output of a program there, and how it ended.

Any login shell (bash, tcsh, fish) reads the line, and profiles may print what they like before the program begins.
"""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from os import urandom
from typing import TYPE_CHECKING

from msgspec import Struct

from ..runner import KEPT, LEAKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RECEIVE = (
    'exec bash -c \'IFS= read -r script && exec 3<&0 </dev/null && exec bash -lc "$(printf %s "$script" | base64 -d)"\''
)
"""The same line for every program: its script is the first line of the standard input, which profiles cannot read."""
_SCRUB = (
    f"for name in $(compgen -e); do case $name in {'|'.join(KEPT)}) ;; "
    f'{"|".join(f"{prefix}*" for prefix in LEAKING)}) unset "$name" ;; esac; done'
)
_KILL_SECONDS = 5
_STATUS = re.compile(rb"[0-9]{1,3}")


class Request(Struct, frozen=True, kw_only=True):
    """Hold a line for a login shell, what it reads, and the mark by which a program's output is told from profiles'."""

    line: str
    stdin: bytes
    mark: bytes


class Outcome(Struct, frozen=True, kw_only=True):
    """Hold what a program printed; `began` is false where nothing came from it, `status` None where its end did not."""

    began: bool
    status: int | None
    stdout: bytes
    stderr: bytes


def request(argv: Sequence[str], stdin: bytes, env: Mapping[str, str], timeout: float) -> Request:
    """Return what runs a program for at most `timeout` seconds, and tells how it ended."""
    mark = f"paislurm-{urandom(8).hex()}"
    script = [
        *_beginning(env),
        f"printf '\\n%s\\n' {mark} >&2",
        f"printf '\\n%s\\n' {mark}",
        shlex.join(["timeout", f"--kill-after={_KILL_SECONDS}", f"{timeout:g}", *argv]) + " <&3",
        f"printf '\\n%s %s\\n' {mark} $?",
    ]
    return Request(line=_RECEIVE, stdin=_encoded(script) + b"\n" + stdin, mark=mark.encode())


def attached(argv: Sequence[str]) -> str:
    """Return the line that becomes a program, with the terminal or the streams of the connection."""
    script = _encoded([*_beginning({}), f"exec {shlex.join(argv)} <&3 3<&-"]).decode()
    return f"exec bash -c 'exec 3<&0 </dev/null && exec bash -lc \"$(echo {script} | base64 -d)\"'"


def _beginning(env: Mapping[str, str]) -> list[str]:
    """Return what comes before a program: an environment that speaks for nobody but us."""
    return [_SCRUB, *(f"export {name}={shlex.quote(value)}" for name, value in env.items())]


def _encoded(lines: Sequence[str]) -> bytes:
    """Return a script as a word in which no shell finds anything special."""
    return b64encode("\n".join(lines).encode(errors="surrogateescape"))


def outcome(asked: Request, stdout: bytes, stderr: bytes) -> Outcome:
    """Return what a program printed, without what profiles printed before it."""
    start = b"\n" + asked.mark + b"\n"
    words = stderr.partition(start)[2] if start in stderr else stderr
    before, begun, rest = stdout.partition(start)
    if not begun:
        return Outcome(began=False, status=None, stdout=before, stderr=words)
    text, ended, status = rest.rpartition(b"\n" + asked.mark + b" ")
    if not ended or not _STATUS.fullmatch(status.strip()):
        return Outcome(began=True, status=None, stdout=rest, stderr=words)
    return Outcome(began=True, status=int(status), stdout=text, stderr=words)

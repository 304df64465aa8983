"""Find the line of a task's logs that reports why it failed. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..view.failure import LogStream

NEAR = 10
"""How many of the last lines may report an error in any form; further back only an exception counts."""
_LOST_PEER = re.compile(
    r"(connection|socket) (was |is |has been )?(reset|refused|closed|aborted|lost|timed? ?out)|broken pipe"
    r"|(peer|remote|other) (process |side |end )?(has |have |was )?(closed|exited|gone|disconnected|lost|terminated)"
    r"|(lost|dropped) (the )?connection|remote process|ncclRemoteError|unhandled system error"
    r"|ConnectionError|EOFError|DistNetworkError|watchdog caught collective|(barrier|rendezvous).*timed? ?out",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"\s|File \"|Traceback \(|During handling of|The above exception|\^+$|~+\^*$|#\d+ |tar: (?:Error is not|Exiting )"
)
_SCRIPT, _SIGNALLED = re.compile(r"/\S*/commands/\S+\.sh: "), re.compile(r"line \d+: +\d+ [A-Z]")
_TAG = re.compile(r"\[(?:rank)?\d+(?:,\d+)?\](?:<\w+>)?: ?")
"""The prefix of a rank's lines. Source: torch.distributed, `[rank0]: `; mpirun --tag-output, `[1,0]<stderr>:`."""
_DRAWN = re.compile(r"\W+$|.*(?:\d%\||\[\d+:\d+<|\d ?it/s|s/it\b|\d/\d+ \[[=>.]+\])")
"""A ruler, or a progress bar. Source: tqdm, Keras."""
_TALK = re.compile(r".{0,60}?\b(?:INFO|DEBUG|NOTICE|WARN(?:ING)?)\b")
"""A line of a logger below the level of an error."""
_ERROR = re.compile(
    r"[\w.]+(Error|Exception|Interrupt|Exit)\b|fatal|panic|terminate called"
    r"|\berror:(?!\s*[-+]?[\d.]+(e[-+]?\d+)?%?\s*($|[,;|]))",
    re.IGNORECASE,
)
_LOGGED = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b")
_EXCEPTION = re.compile(
    r"[\w.]*(?:Error|Exception)(?::|$)|(?:ERROR|FATAL|CRITICAL|fatal|panic|error)\b ?:|terminate called"
)
"""The start of a line that reports an exception or a fatal error."""
_WRAPPER = re.compile(r"[\w.]*(?:ChildFailedError|CalledProcessError)\b")
"""Exceptions of a parent, whose child has reported the cause. Source: torch.distributed.elastic; subprocess."""
_OF_STOP = re.compile(r"Signal|SIGTERM|Interrupt|SystemExit|Terminated|Cancel|slurmstepd|srun|signal 15", re.IGNORECASE)
"""What programs print when they are stopped."""
_SUCCESS = re.compile(r"\b(?:success\w*|succeeded|completed?|done|finished|saved|passed|ok)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|no|un\w+|fail\w*|cannot|can't|only)\b", re.IGNORECASE)


class Output(NamedTuple):
    """A log of a task, and its last lines."""

    stream: LogStream
    lines: Sequence[str]


def lost_a_peer(lines: Sequence[str]) -> bool:
    """Return whether the last lines of a log report a lost connection to another task."""
    return any(map(_LOST_PEER.search, (*lines[-NEAR:], error_line(lines))))


def raised_by_itself(lines: Sequence[str]) -> bool:
    """Return whether a log ends with an exception that neither a lost peer nor a stop explains."""
    found = _last(_EXCEPTION.match, [line for line in _said(lines) if not _TALK.match(line)][-NEAR:])
    return bool(found) and not lost_a_peer(lines) and not _OF_STOP.search(found)


def error_line(lines: Sequence[str]) -> str:
    """Return the last line that reports an error, "" without any."""
    said = [line for line in _said(lines) if not _TALK.match(line)]
    causes = [line for line in said if not _WRAPPER.match(line)]
    return _last(_reports_error, causes[-NEAR:]) or _last(_EXCEPTION.match, causes) or _last(_WRAPPER.match, said)


def last_words(lines: Sequence[str]) -> str:
    """Return the last line that reports an error, else the last line of text; "" without any.

    Frames of a traceback, rulers, progress bars and bash's report of a signal are no text. Leave out the path of the
    task's script and the prefix of a rank.
    """
    return error_line(lines) or "".join(_said(lines)[-1:])


def telling_output(outputs: Sequence[Output]) -> tuple[Output, str]:
    """Return the output that tells why a task failed, the likeliest first, and its last words.

    Another output than the first needs an exception to be preferred, and an earlier success in it explains nothing.
    """
    first, others = outputs[0], outputs[1:]
    if words := error_line(first.lines):
        return first, words
    for output in others:
        if words := _last(_EXCEPTION.match, _said(output.lines)[-NEAR:]):
            return output, words
    if words := last_words(first.lines):
        return first, words
    for output in others:
        words = last_words(output.lines)
        if words and (not _SUCCESS.search(words) or _DENIAL.search(words)):
            return output, words
    return next((output for output in outputs if output.lines), first), ""


def _said(lines: Sequence[str]) -> list[str]:
    """Return the lines of text, without the prefix of a rank and the path of the task's script."""
    untagged = (_TAG.sub("", line, count=1) if _TAG.match(line) else line for line in lines)
    said = [_SCRIPT.sub("", line) for line in untagged if not _FRAME.match(line)]
    return [line for line in said if not _SIGNALLED.match(line) and not _DRAWN.match(line)]


def _reports_error(line: str) -> object:
    return _ERROR.search(line) or _LOGGED.search(line)


def _last(matches: Callable[[str], object], lines: Sequence[str]) -> str:
    return next(filter(matches, reversed(lines)), "")

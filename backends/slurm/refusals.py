"""Turn the failure of a Slurm program into an error: unreachable, throttled, or refused, with the options at fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, ThrottledError, UnreachableError

from ..runner import NOT_CONNECTED, RETRIED_HINT, SLEEPS
from .commands import is_test
from .output import submitted_ids
from .refusal_table import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..runner import Completed

UNREACHABLE = re.compile(
    r"Unable to contact slurm controller"
    r"|Socket timed out"
    r"|Connection (?:refused|timed out|reset)"
    r"|Zero Bytes were transmitted"
    r"|Communication (?:connection|shutdown) failure"
    r"|Unexpected missing socket error"
    r"|Message (?:send|receive) failure"
    r"|controller in standby mode"
    r"|controller not responding"
    r"|temporarily unable"
    r"|Protocol authentication error"
    r"|Munge encode failed|MUNGE"
    r"|Could not establish a configuration source"
    r"|Problem talking to the database"
    r"|persistent connection"
    r"|Unable to connect to database",
    re.IGNORECASE,
)
"""Messages if a controller, a database or the authentication is down. Source: observed on 22.05."""

THROTTLED = re.compile(
    r"rate.?limit|RPC limit|too many (?:requests|RPCs)|slow(?:ing)? down|retry (?:momentarily|later)", re.IGNORECASE
)
"""Messages for too frequent queries, from a controller (slurm.conf(5), rl_enable) or from a site's wrapper.

Source: slurm_errno.c of 24.11, SLURMCTLD_COMMUNICATIONS_BACKOFF and _HARD_DROP. squeue retries for some time
before it reports this.
"""

MAX_MESSAGE_CHARACTERS = 1 << 14
"""Limit in characters for a program's messages: a site's wrapper or a login node can print anything."""

MAX_NOTES = 1000
"""Limit in characters for what the journal keeps of sbatch's messages."""

NOT_CONFIGURED = "Could not establish a configuration source"
"""Slurm's programs are installed but find no cluster, so no request was sent. Source: observed on 22.05."""


_VERDICT = re.compile(r"^\w+: error: Batch job submission failed: (.*)$", re.MULTILINE)
"""The controller's own answer, after the messages of a site's rule. Source: observed on 22.05, 24.11, 26.05."""

NO_REASON = "Unspecified error"
"""The controller's answer if a site's rule (job_submit.lua) refuses. Source: observed on 22.05, 24.11, 26.05."""

_MENTIONED = re.compile(r"(?<![\w-])(?:--([a-z][a-z-]+)|-([ACpqtwx]))(?![\w-])")
_SHORT = {
    "A": "account",
    "C": "constraint",
    "p": "partition",
    "q": "qos",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}
"""Options that users write as a letter. Source: sbatch(1)."""


def is_unanswered(done: Completed) -> bool:
    """Return whether a query failed, or printed nothing but a complaint about too frequent queries."""
    return bool(done.status) or (not done.stdout.strip() and THROTTLED.search(done.stderr) is not None)


def is_refused(done: Completed) -> bool:
    """Return whether the controller itself has refused a submit, whatever the program's status is."""
    return _VERDICT.search(done.stderr) is not None


def failure(argv: Sequence[str], done: Completed) -> BackendError:
    """Return the error for a program that failed. A missing answer is never reported as a refusal."""
    done = replace(done, stderr=done.stderr[:MAX_MESSAGE_CHARACTERS])
    # The last match, because a site's messages may look like an answer.
    verdict = max(_VERDICT.finditer(done.stderr), key=lambda found: found.start(), default=None)
    # A site's messages may contain anything, so if the controller's own answer is present, it decides.
    answer = verdict[1] if verdict else done.stderr
    words = slurm_messages(done)
    if THROTTLED.search(answer):
        message = f"Slurm limits the rate of requests and did nothing: {words}"
        diagnostic = Diagnostic(code="E507", message=message, hint=f"try again later: {_nothing_done(argv)}")
        return ThrottledError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)
    if SLEEPS not in answer and (UNREACHABLE.search(answer) or (done.status < 0 and not verdict)):
        return _unreachable(argv, done)
    options: tuple[str, ...] = ()
    code, lasting = "E503", False
    hint = f"look up this message in the manual of `{argv[0]}`, or ask the site"
    tried = ((refusal, re.search(refusal.pattern, words, re.IGNORECASE)) for refusal in REFUSALS)
    found = next(((refusal, match) for refusal, match in tried if match), None)
    if verdict and verdict[1] == NO_REASON:
        words, options, hint = _site_refusal(done.stderr[: verdict.start()])
    elif found is not None:
        refusal, match = found
        options, hint = refusal.options or match.groups()[:1], refusal.hint
        code, lasting = refusal.code, refusal.lasting
    named = " or ".join(f"--{option}" for option in options)
    message = f"{argv[0]} refuses{f' {named}' if named else ''}: {words}"
    diagnostic = Diagnostic(code=code, message=message, hint=hint)
    return RejectedError(
        diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=options, lasting=lasting
    )


def _site_refusal(text: str) -> tuple[str, tuple[str, ...], str]:
    """Return the message, the options and the hint of a refusal by a site's rule, which may have printed text.

    For a heterogeneous job, a site's message starts with the component's number, `0: `. Source: observed on 22.05,
    24.11, 26.05.
    """
    said = " ".join(_said(text))
    options = tuple(dict.fromkeys(long or _SHORT[short] for long, short in _MENTIONED.findall(said)))
    keys = [f"`{option}`" if option in _SHORT.values() else f"`options: [--{option}=...]`" for option in options]
    words = "a rule of the site (job_submit) refuses the job"
    if not said:
        return words, (), "ask the site for the reason; its slurmctld.log may have it"
    what = " and ".join(keys) or "`options: [--NAME=VALUE]`"
    hint = f"write {what} under `extras.slurm`, as the site's message requires"
    return f'{words}; message of the site: "{said}"', options, hint


_NO_SLURM_HINTS = {
    True: "run this on a login node of the cluster, or use `--backend local` to run it on this machine",
    False: "run this on a login node of the cluster, or name one: `--host` on the command line, or `host` in the site "
    "profile",
}
"""The hints on a machine without Slurm: the first for a submit, the second for all else, also for an estimate."""


def _unreachable(argv: Sequence[str], done: Completed) -> UnreachableError:
    """Return the error for no answer. Slurm may have executed a request whose answer was lost."""
    is_submit = argv[0] == "sbatch" and not is_test(argv)
    unsure = "; it may have accepted the job" if is_submit else ""
    code, hint = "E506", f"try again later: {_nothing_done(argv)}"
    if NOT_CONFIGURED in done.stderr:
        hint = _NO_SLURM_HINTS[is_submit]
        message = f"Slurm is not set up on this machine: `{argv[0]}` finds no slurm.conf and no controller"
    elif NOT_CONNECTED in done.stderr:
        message = f"Slurm cannot be reached: {slurm_messages(done)}"
    else:
        code, hint = "E502", RETRIED_HINT
        message = f"Slurm does not respond: {slurm_messages(done)}{unsure}"
        if done.status < 0:
            message = f"`{argv[0]}` was killed by signal {-done.status}; Slurm may have executed its request"
    diagnostic = Diagnostic(code=code, message=message, hint=hint)
    return UnreachableError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)


def _nothing_done(argv: Sequence[str]) -> str:
    return "nothing was submitted" if argv[0] == "sbatch" else "nothing is lost"


def notes(done: Completed) -> str:
    """Return what sbatch, and a site's rules and wrappers, printed beside the id of an accepted job, in one line."""
    lines = [done.stderr, *(line for line in done.stdout.splitlines() if not submitted_ids(line))]
    return "; ".join(_said("\n".join(lines)))[:MAX_NOTES]


def _said(text: str) -> list[str]:
    """Return lines of a site's rule, without repetitions, sbatch's own prefix, and numbers of components (`0: `)."""
    lines = (re.sub(r"^(?:sbatch: )?(?:error: |fatal: )?(?:\d+: )?", "", line).strip() for line in text.splitlines())
    return [line for line in dict.fromkeys(lines) if line]


def slurm_messages(done: Completed) -> str:
    """Return a program's messages in one line, without repetitions and program names."""
    lines = map(_without_program, done.stderr.splitlines())
    messages = "; ".join(line for line in dict.fromkeys(lines) if line and not line.startswith("Try "))
    return messages or f"exit status {done.status} without a message"


def _without_program(line: str) -> str:
    """Return a line without the name of the program at its start."""
    return re.sub(r"^\w+: (?:error: |fatal: )?", "", line).strip()

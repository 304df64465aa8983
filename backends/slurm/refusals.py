"""Turn what a Slurm program says when it fails into an error: away, or no, and to which option."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.translator.errors import BackendError, Diagnostic, RejectedError, ThrottledError, UnreachableError

from ..runner import NOT_CONNECTED, RETRIED_HINT
from .estimate_commands import is_test
from .refusal_table import REFUSALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..runner import Completed

UNREACHABLE = re.compile(
    r"Unable to contact slurm controller"
    r"|Socket timed out"
    r"|Connection (?:refused|timed out|reset)"
    r"|Zero Bytes were transmitted"
    r"|Communication connection failure"
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
"""Messages of a controller, a database or an authentication that is away. Source: observed on 22.05."""

THROTTLED = re.compile(
    r"rate.?limit|RPC limit|too many (?:requests|RPCs)|slow(?:ing)? down|retry (?:momentarily|later)", re.IGNORECASE
)
"""Messages of a controller that is asked too often (slurm.conf(5), rl_enable), or of a site's wrapper that says so.

Source: slurm_errno.c of 24.11, SLURMCTLD_COMMUNICATIONS_BACKOFF and _HARD_DROP. squeue itself asks again for some time
before it says so.
"""

MAX_WORDS = 1 << 14
"""Characters of what a program says that are looked at: a site's wrapper, or a login node, can say anything."""

NOT_CONFIGURED = "Could not establish a configuration source"
"""Slurm's programs are installed, and know of no cluster: none was asked. Source: observed on 22.05."""


_VERDICT = re.compile(r"^\w+: error: Batch job submission failed: (.*)$", re.MULTILINE)
"""The controller's own answer, after what a rule of the site says. Source: observed on 22.05, 24.11, 26.05."""

NO_REASON = "Unspecified error"
"""Its answer where a rule of the site (job_submit.lua) refuses. Source: observed on 22.05, 24.11, 26.05."""

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
"""Options that people call by a letter. Source: sbatch(1)."""


def is_unanswered(done: Completed) -> bool:
    """Tell whether a query failed, or printed nothing but that it is called too often."""
    return bool(done.status) or (not done.stdout.strip() and THROTTLED.search(done.stderr) is not None)


def failure(argv: Sequence[str], done: Completed) -> BackendError:
    """Return the error for a program that failed. No answer is never called a refusal."""
    done = replace(done, stderr=done.stderr[:MAX_WORDS])
    verdict = _verdict(done)
    # The words of a site may look like anything, so that the controller's own decide where there are any.
    if THROTTLED.search(verdict[1] if verdict else done.stderr):
        return _throttled(argv, done)
    if UNREACHABLE.search(verdict[1] if verdict else done.stderr):
        return _unreachable(argv, done, slurm_words(done))
    if done.status < 0 and not verdict:
        return _killed(argv, done)
    words, sites = _words_and_sites(done)
    code, lasting = "E503", False
    found = next(((refusal, match) for refusal in REFUSALS if (match := refusal.says.search(words))), None)
    if found is not None:
        refusal, match = found
        options, hint = refusal.options or match.groups()[:1], refusal.hint
        code, lasting = refusal.code, refusal.lasting
    elif verdict and verdict[1] == NO_REASON:
        words = "a rule of the site (job_submit) refuses the job"
        options = tuple(dict.fromkeys(long or _SHORT[short] for long, short in _MENTIONED.findall(sites)))
        hint = _hint_of_rule(sites, options)
    else:
        options, hint = (), f"these are the words of `{argv[0]}`: its manual, or the site, says what they mean"
    named = named_options(options)
    said = f'; the site says: "{sites}"' if sites else ""
    message = f"{argv[0]} refuses{f' {named}' if named else ''}: {words}{said}"
    diagnostic = Diagnostic(code=code, message=message, hint=hint)
    return RejectedError(
        diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr, options=options, lasting=lasting
    )


def named_options(options: Sequence[str]) -> str:
    """Return options as a message names them: `--mem or --gres`."""
    return " or ".join(f"--{option}" for option in options)


def _hint_of_rule(sites: str, options: Sequence[str]) -> str:
    """Return what to do where a rule of the site refuses, with its words or without."""
    if not sites:
        return "the rule gives no reason: ask the site, whose slurmctld.log may have one"
    keys = [f"`{option}`" for option in options if option in _SHORT.values()]
    others = [f"`options: [--{option}=...]`" for option in options if option not in _SHORT.values()]
    if options:
        return f"write {' and '.join((*keys, *others))} under `extras.slurm`, as the site's words ask"
    return "do as the site's words ask; an sbatch option without a key under `extras.slurm` goes into its `options`"


def _verdict(done: Completed) -> re.Match[str] | None:
    """Return the controller's answer, the last one: a site's words may look like one, too."""
    return max(_VERDICT.finditer(done.stderr), key=lambda found: found.start(), default=None)


def _words_and_sites(done: Completed) -> tuple[str, str]:
    """Return what Slurm says, and what a rule of the site: what stands before the answer and is none of Slurm's own.

    Of a heterogeneous job it begins with the number of the component, `0: `. Source: observed on 22.05, 24.11, 26.05.
    """
    verdict = _verdict(done)
    if verdict is None:
        return slurm_words(done), ""
    lines = done.stderr[: verdict.start()].splitlines()
    ruled = verdict[1] == NO_REASON
    sites = [line for line in lines if ruled or not any(known.says.search(line) for known in REFUSALS)]
    said = (re.sub(r"^\d+: ", "", _bare(line)) for line in sites)
    own = (_bare(line) for line in (*(line for line in lines if line not in sites), verdict[0]))
    return "; ".join(dict.fromkeys(own)), " ".join(line for line in dict.fromkeys(said) if line)


_ELSEWHERE = {
    True: "run this on a login node of the cluster, or use `--backend local` to run it on this machine",
    False: "run this on a login node of the cluster; from elsewhere, `--host` or `host` of a site profile names one",
}
"""What helps on a machine without Slurm, where a job was to be submitted, and else."""


def _throttled(argv: Sequence[str], done: Completed) -> ThrottledError:
    """Return the error for a controller that was asked too often: it did nothing of what it was asked for."""
    message = f"Slurm is asked too often, and did not answer: {slurm_words(done)}"
    diagnostic = Diagnostic(code="E507", message=message, hint=f"try again later: {_nothing_done(argv)}")
    return ThrottledError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)


def _unreachable(argv: Sequence[str], done: Completed, words: str) -> UnreachableError:
    """Return the error for no answer. A request that was sent may have been taken though the answer was lost."""
    if NOT_CONFIGURED in done.stderr:
        message = f"Slurm is not set up on this machine: `{argv[0]}` finds no slurm.conf and no controller"
        return _no_answer(argv, done, "E506", message, _ELSEWHERE[argv[0] == "sbatch"])
    if NOT_CONNECTED in done.stderr:
        message = f"Slurm cannot be reached: {words}"
        return _no_answer(argv, done, "E506", message, f"try again later: {_nothing_done(argv)}")
    unsure = "; it may have taken the job all the same" if argv[0] == "sbatch" and not is_test(argv) else ""
    return _no_answer(argv, done, "E502", f"Slurm does not respond: {words}{unsure}")


def _killed(argv: Sequence[str], done: Completed) -> UnreachableError:
    """Return the error for a program that a signal ended: what it had sent may have been taken."""
    message = f"`{argv[0]}` was ended by signal {-done.status}; what was asked may have been done or not"
    return _no_answer(argv, done, "E502", message)


def _no_answer(
    argv: Sequence[str], done: Completed, code: str, message: str, hint: str = RETRIED_HINT
) -> UnreachableError:
    diagnostic = Diagnostic(code=code, message=message, hint=hint)
    return UnreachableError(diagnostic, argv=tuple(argv), status=done.status, stderr=done.stderr)


def _nothing_done(argv: Sequence[str]) -> str:
    return "nothing was submitted" if argv[0] == "sbatch" else "nothing is lost"


def slurm_words(done: Completed) -> str:
    """Return what a program said, in one line, each thing once and without the program's name before it."""
    lines = map(_bare, done.stderr.splitlines())
    said = "; ".join(line for line in dict.fromkeys(lines) if line and not line.startswith("Try "))
    return said or f"exit status {done.status}, and no message"


def _bare(line: str) -> str:
    """Return a line without the program's name before it."""
    return re.sub(r"^\w+: (?:error: |fatal: )?", "", line).strip()

"""Why a job has its status, as a record and as text: the sentences of `list`, `status`, the screen and the page. Pure.

The journal records the sentence of an end, which later versions show as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ..plural import attempt_name

_CANCELLED = "cancelled by {user}"
_NO_CAUSE = "the job was ended from outside, and {label} {without}"
_LOST = "{label} has lost the job"
_NO_RESULT = "{label} reports {word}; the result does not exist yet"
_UNLISTED = "{label} does not know job {job}"
_FORGOTTEN = (
    "{label} {reported}has forgotten job {job}, accounting has no record of its end, and there is no {which} in "
    "{folder}: the node may be lost, or may not share that folder"
)
TEXTS: Mapping[str, str] = {
    "another job runs the attempt": "job {runner} runs this attempt",
    "another job has its number, its script never began": (
        f"{_LOST} before its script began, and job {{job}} is another one"
    ),
    "another job has its number, its script was ended for that": (
        f"{_LOST}, and its script was told to end when job {{job}} was another one"
    ),
    "forgotten after a cancel": _CANCELLED,
    "forgotten, a cancel takes effect": _CANCELLED,
    "forgotten after an end from outside": "{sentence}",
    "it is not shown yet": "{label} does not show the job yet",
    "forgotten after its script ended": _FORGOTTEN,
    "another job has its number, its script had begun": (
        f"{_LOST}, job {{job}} is another one, and there is no {{which}} in {{folder}}"
    ),
    "forgotten for long, its script had begun": _FORGOTTEN,
    "forgotten, its script had begun": "{label} has forgotten the job; the result does not exist yet",
    "not known, its script may begin or run": f"{_UNLISTED}, and the job left no result",
    "not known for long, its script never began": f"{_LOST} before its script began",
    "not known, its script has not begun": (
        f"{_UNLISTED}, whose script has not begun; after {{minutes}} min, the attempt counts as lost"
    ),
    "a node could not start it": "{unbegun}",
    "cancelled by nobody while its script ran": _NO_CAUSE,
    "ended from outside": "{outside}",
    "cut off by its user's cancel": "the job was cancelled by {user}",
    "decided, the lost node is not named yet": "{result}; {label} has not named the node yet",
    "cut off, and the cause stays unknown": _NO_CAUSE,
    "decided": "{decided}",
    "decided, tasks are being stopped": "{outcome}, the remaining tasks are being stopped: {result}",
    "cut off after a cancel": _CANCELLED,
    "cut off, the cause is not reported yet": "ended from outside; {label} has not reported the cause yet",
    "the node does not see the folder": (
        "{node} cannot access the job's folder {folder}, which all nodes must share{log}"
    ),
    "the folder was full": "{label} reports {word}: {folder} could not be written: its file system or a quota was full",
    "ended, and it had not begun so far": _NO_RESULT,
    "ended, its result may come": _NO_RESULT,
    "cancelled before it had a folder": _CANCELLED,
    "cut off before it had a folder": (
        "{label} reports {word}: the batch script was ended from outside and left no result"
    ),
    "Slurm started it again while it ran": "{label} had lost its start, and started it again while it ran",
    "a success of a script that never began": (
        "{label} reports {word}, but the script never began: job {seen} may be another one"
    ),
    "a limit or a signal ended it, and its script never began": "{label} reports {word}, but the script never began",
    "a success without a result": "{label} reports {word}; there is no result",
    "a failure without a result": "{label} reports {word}: the batch script ended {how} and left no result",
    "not submitted": "it is being submitted, or {label} did not report whether it accepted the job",
    "no answer since the submit": "it has been submitted",
    "no answer, and not known before": "{label} did not know the job when it last responded",
    "being cancelled": _CANCELLED,
    "back in the queue": "{label} has put the job back into its queue",
    "it waits in the queue": "{waits}",
    "its tasks are starting": "{starting}",
    "it ends, and its script never began": "{label} reports {state}",
    "it ends, and no task ran": "{label} reports {state}",
    "it runs": "{running}",
    "a word of a newer Slurm": "{label} reports the unknown state {state}",
    # Without a verdict: the job has ended before, waits for other jobs, or is between two attempts.
    "said": "{text}",
    "retries are over": "{end}; {rule}",
    "its journal cannot be read": "its journal cannot be read ({error}): repair {journal}, or remove the folder",
    "removed": "its folder has been removed",
    "its end is not recorded": (
        "{end}; {holder} has the monitor's lock and records this end; if it was killed, any command does after 60 s"
    ),
    "cancelled before its submit": "cancelled by {user} before it was submitted",
    "never submitted": "never submitted: {jobs}",
    "it waits for jobs": "{jobs}{held}",
    "it waits for a place in its group": "at most {most} of group {group} at {label} at once{held}",
    "it waits for a place in the queue": "it is submitted when {label} accepts more jobs{held}",
    "its group stops": "never submitted: {jobs} of group {group} failed with code {code}, one as: {one}",
    "an awaited job goes on": "it starts when {job} has {until}{cancelled}",
    "an awaited job cannot be read": "it starts after {job}, whose journal cannot be read ({error})",
    "an awaited job was removed": "it was to start after {job} has {until}, and that job was removed",
    "an awaited job failed": "it was to start after {job} has {until}, and that job is {state}{code}",
    "its dependencies are fulfilled": "all dependencies are fulfilled; it is submitted next{held}",
    "an attempt ended": "{attempt} ended with {code}: {reason}",
    "cancelled between attempts": "cancelled by {user} before {next} was submitted; {last}",
    "an attempt is due": "waiting for {next}, which is submitted {when}; {last}; {rule}{held}",
    "an attempt is held back": "waiting for {next}, which is held back until {when}: {limit}{last}",
    "an attempt was refused": "{attempt} is not submitted yet: {refusal}; retrying {again}{held}",
    "cancelled after a refusal": "cancelled by {user} before {attempt} was submitted: {refusal}",
    "an attempt cannot be submitted": "{attempt} cannot be submitted: {refusal}",
    "an attempt was submitted": "{attempt} has been submitted",
    "perhaps submitted": "it is not known whether the backend accepted it",
    "cancelled, and never submitted": "cancelled by {user}; it never reached {label}",
    "given up": "given up by the user: {label} does not know the job, and it has no result",
    "never accepted": "it never reached {label}",
}
"""The text of each reason: of the rows of the verdict, and of jobs for which there is none."""


class Reason(Struct, frozen=True, kw_only=True):
    """Why a job has its status: one of `TEXTS`, and the values in its text, which stay the same while it waits."""

    kind: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the reason as a sentence, in which attempts are counted from 1."""
        names = {
            name: attempt_name(index) for name in ("attempt", "next") if isinstance(index := self.values.get(name), int)
        }
        return TEXTS[self.kind].format_map({**self.values, **names})


def reason(kind: str, **values: object) -> Reason:
    """Return a reason with its values."""
    return Reason(kind=kind, values=values)


def said(text: str) -> Reason:
    """Return the reason that a journal has as a sentence."""
    return reason("said", text=text)

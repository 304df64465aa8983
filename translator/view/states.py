"""The states of jobs and tasks, in the order of tables, and their text. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, get_args

from ..exit_codes.codes import STOPPED, TASK_STOPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

State = Literal["WAITING", "RUNNING", "STOPPING", "SUCCEEDED", "FAILED", "STOPPED", "UNKNOWN"]
"""Source: OpenPAI job states."""
STATES: tuple[State, ...] = get_args(State)
"""In the order of tables."""
FINAL: tuple[State, ...] = ("SUCCEEDED", "FAILED", "STOPPED")
STOP_CODES = (STOPPED, TASK_STOPPED)
"""The codes of a STOPPED job: stopped by its user, or by the end of a job. Source: OpenPAI job states."""


def state_of(code: int) -> State:
    """Return the final state for an exit code. Source: OpenPAI, final state of a job."""
    if code == 0:
        return "SUCCEEDED"
    return "STOPPED" if code in STOP_CODES else "FAILED"


def final_state(word: str) -> State:
    """Return the final state in a journal, UNKNOWN for a state of another version."""
    return next((state for state in FINAL if state == word), "UNKNOWN")


def state_text(state: State, code: int | None) -> str:
    """Return the state. For a failed job, add the usual meaning of its code; for a stopped one, too, add the code."""
    if not code:
        return state
    # Imported late: the help of commands needs the names of states alone.
    from ..exit_codes.advice import UNLISTED, advice
    from ..exit_codes.table import exit_codes

    listed = exit_codes().get(code)
    name = code_text(code, listed.phrase if listed else "")
    meaning = advice(code, kind="" if listed else UNLISTED).short if state == "FAILED" else ""
    return f"{state} ({'; '.join(filter(None, (meaning, name)))})"


def code_text(code: int, phrase: str) -> str:
    """Return an exit code with its name, OpenPAI's in most cases, "" for none; words of our own come before it."""
    return f"code {code}, {phrase}" if phrase else f"code {code}"


def counts_text(states: Iterable[str]) -> str:
    """Return the number of jobs or tasks in each state: `1 running, 2 failed`."""
    counts = Counter(states)
    return ", ".join(f"{counts[state]} {state.lower()}" for state in STATES if counts[state])

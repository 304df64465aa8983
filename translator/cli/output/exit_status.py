"""How a job ended, as exit code and in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .console import one_line, say

if TYPE_CHECKING:
    from ...monitor.job_status import Standing
    from ...monitor.poll import View

FAILED = 1


def exit_code(view: View) -> int:
    """Return 0 for a job that succeeded, 1 for any other end."""
    return 0 if view.standing.state == "SUCCEEDED" else FAILED


def state_text(standing: Standing) -> str:
    """Return the state and, of a job that failed or was stopped, its exit code with what OpenPAI calls it."""
    if not standing.code:
        return standing.state
    from ...exit_codes.table import exit_codes

    listed = exit_codes().get(standing.code)
    phrase = f", {listed.phrase}" if listed else ""
    return f"{standing.state} (exit code {standing.code}{phrase})"


def say_ending(view: View) -> None:
    """Tell how a job ended, and where to look if it did not go well."""
    reason = f": {view.standing.reason}" if view.standing.reason else ""
    say(one_line(f"{view.folder.name} {state_text(view.standing)}{reason}"))
    if view.standing.state == "FAILED":
        say(f"see: paislurm status {view.folder.name}; paislurm logs --stderr {view.folder.name}")

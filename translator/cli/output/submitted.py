"""What `submit` prints of a job that it submitted, or would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...planning.plan_text import plan_text
from ...terminal_text import escape_control
from .console import log, print_json, print_result

if TYPE_CHECKING:
    from ...app.submit.result import Submitted


def print_submitted(submitted: Submitted, *, as_json: bool) -> None:
    """Print what was submitted; of a dry run, the plan."""
    if as_json:
        print_json(submitted.printed)
    elif submitted.job_id is None:
        print_result(escape_control(plan_text(submitted.compiled.plan)).rstrip("\n"))
        log(f"dry run: {submitted.folder.path} would be made, and its script submitted to {submitted.backend}")
        log("`--test-only` says when it would start")
    else:
        print_result(submitted.text)
        log(f"watch it: paislurm status {submitted.job}; paislurm logs -f {submitted.job}")

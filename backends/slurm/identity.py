"""Determine whether a job that Slurm shows is a job's attempt: numbers are reused, and sites rename jobs.

A controller that crashes forgets its latest jobs, and reuses their numbers. Source: observed on 22.05 and 26.05. A
site's job_submit plugin may change name and comment, but not the command line: the script, and on some versions its
arguments, of which the last is the tag. Source: observed on 22.05 (with arguments), 24.11 and 26.05 (without).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paislurm.translator.files.names import ATTEMPTS, SCRIPT

if TYPE_CHECKING:
    from ..base import Observation, RunFolder

_TAG = re.compile(r"paislurm-[0-9a-f]+(@[^.\s]+)?(\.[0-9]+)?")
MAX_COMMAND = 4096
"""Limit in characters, for the end of a command line: others' can be long."""


def shown_words(comment: str, command: str) -> tuple[str, ...]:
    """Return the words of which one may be the tag: the last one of the command line, and the comment."""
    return (*command.split()[-1:], comment)


def shown_tag(comment: str, command: str) -> str:
    """Return the tag that a job shows, "" if none."""
    return next((word for word in shown_words(comment, command) if _TAG.fullmatch(word)), "")


def is_attempt(seen: Observation, attempt: RunFolder) -> bool | None:
    """Return whether a job is an attempt, None if Slurm shows neither a tag nor a script of ours.

    A site's wrapper may submit a copy of the script.
    """
    if seen.tag:
        return seen.tag == attempt.tag
    return runs_script(seen.command, attempt) if seen.command.endswith(f"/{SCRIPT}") else None


def runs_script(command: str, attempt: RunFolder) -> bool:
    """Return whether a command line is the script of an attempt.

    Compare the end of its path: a home may have several paths, and a login node has its own.
    """
    folders = (attempt.folder.name, attempt.remote_name)
    return command.endswith(tuple(f"/{folder}/{ATTEMPTS}/{attempt.attempt}/{SCRIPT}" for folder in folders))

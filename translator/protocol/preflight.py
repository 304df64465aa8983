"""The key `preflight` of `extras.slurm` and of the site profile: checks of nodes before tasks start."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from ..slurm_options import NODE_CHECKS, NodeCheck
from ..times import DURATION_PATTERN, duration
from ..validation.strict_model import NOT_EMPTY, StrictModel, Validator, choice, expected, pattern

MAX_TIMEOUT = 3600
ShellText = Annotated[str, pattern("commands of bash", r"(?:(?!\x00)[\s\S])*\S(?:(?!\x00)[\s\S])*")]


def _timeout(value: object) -> int:
    seconds = duration(value) if isinstance(value, str) else None
    if seconds is None or not 1 <= seconds <= MAX_TIMEOUT:
        raise expected("a time such as `60s` or `5m`, at most an hour")
    return seconds


_DURATION = {"type": "string", "pattern": DURATION_PATTERN}


class SlurmPreflight(StrictModel):
    """What is checked on each node before tasks start. Without a key, the site's applies."""

    check: Annotated[list[Annotated[NodeCheck, choice(*NODE_CHECKS)]], NOT_EMPTY] | None = None
    """What the script itself checks: `gpu`, `infiniband`, `disk`, `clock`. Default: all of these that apply."""
    command: ShellText | None = None
    """Commands that run on each node, outside of containers; an exit status other than 0 marks the node as bad."""
    pairs: ShellText | None = None
    """Commands that run on pairs of nodes at the same time, on each node with several others in turn."""
    timeout: Annotated[int, Validator(_timeout, _DURATION)] | None = None
    """The most time for the checks, for the command, and for each round of pairs. Default: `60s`."""


def _preflight(value: object) -> object:
    """Return `true` as a mapping without keys."""
    if value is True:
        return SlurmPreflight.of()
    if value is False or isinstance(value, (dict, SlurmPreflight)):
        return value
    raise expected("true, false or a mapping such as `{check: [gpu, disk]}`")


PreflightChoice = Annotated[
    SlurmPreflight | Literal[False], BeforeValidator(_preflight, json_schema_input_type=bool | SlurmPreflight)
]

"""The keys `preflight` and `avoidNodes` of `extras.slurm` and of the site profile."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from ..slurm_options import NODE_CHECKS, NodeCheck
from ..times import DURATION_PATTERN, duration
from ..validation.strict_model import NOT_EMPTY, StrictModel, Validator, choice, expected, int_range, pattern

DAY = 86400
ShellText = Annotated[str, pattern("commands of bash", r"(?:(?!\x00)[\s\S])*\S(?:(?!\x00)[\s\S])*")]


def _seconds(most: int, words: str) -> Validator:
    """Return the check of a duration of at most so many seconds."""

    def checked(value: object) -> int:
        seconds = duration(value) if isinstance(value, str) else None
        if seconds is None or not 1 <= seconds <= most:
            raise expected(words)
        return seconds

    return Validator(checked, {"type": "string", "pattern": DURATION_PATTERN})


Timeout = Annotated[int, _seconds(3600, "a time such as `60s` or `5m`, at most an hour")]
Age = Annotated[int, _seconds(365 * DAY, "an age such as `12h` or `1d`, at most a year")]


class SlurmPreflight(StrictModel):
    """What is checked on each node before tasks start. Without a key, the site's applies."""

    check: Annotated[list[Annotated[NodeCheck, choice(*NODE_CHECKS)]], NOT_EMPTY] | None = None
    """What the script itself checks: `gpu`, `infiniband`, `disk`, `clock`. Default: all of these that apply."""
    command: ShellText | None = None
    """Commands that run on each node, outside of containers; an exit status other than 0 marks the node as bad."""
    pairs: ShellText | None = None
    """Commands that run on pairs of nodes at the same time, on each node with several others in turn."""
    timeout: Timeout | None = None
    """The most time for the checks, for the command, and for each round of pairs. Default: `60s`."""


NO_PREFLIGHT = SlurmPreflight.of()
"""The value of `preflight: false`."""


def _preflight(value: object) -> object:
    """Return `true` as a mapping without keys."""
    if isinstance(value, bool):
        return SlurmPreflight.of() if value else NO_PREFLIGHT
    if isinstance(value, (dict, SlurmPreflight)):
        return value
    raise expected("true, false or a mapping such as `{check: [gpu, disk]}`")


PreflightChoice = Annotated[SlurmPreflight, BeforeValidator(_preflight, json_schema_input_type=bool | SlurmPreflight)]


class AvoidNodes(StrictModel):
    """Which bad nodes a job avoids that it has not met itself."""

    newer_than: Annotated[Age, Field(alias="for")] = DAY
    """How long a node is avoided after it was bad."""
    at_most: Annotated[int, int_range(1, 1000)] = 2
    """The most nodes to avoid, the latest first."""

    @property
    def limits(self) -> tuple[int, int]:
        """The age in seconds up to which nodes are avoided, and how many."""
        return self.newer_than, self.at_most

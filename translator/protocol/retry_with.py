"""The key `retryWith` of `extras.slurm` and of the site profile: more memory or time after a lack of it."""

import re
from typing import Annotated

from ..slurm_options import More
from ..times import DURATION_PATTERN, duration
from ..validation.strict_model import StrictModel, Validator, expected, int_range, integer

_FACTOR = r"x([0-9]{1,2}(?:\.[0-9]{1,2})?)"
_MEMORY = r"([0-9]{1,9}) ?([MGT])i?B"
_MIB = {"M": 1, "G": 1 << 10, "T": 1 << 20}
MAX_TIMES = 8


def _percent(value: object) -> int:
    found = re.fullmatch(_FACTOR, value, re.ASCII) if isinstance(value, str) else None
    percent = round(float(found[1]) * 100) if found else 0
    if not 100 < percent <= 1000:
        raise expected("a factor above x1 and up to x10, such as `x1.5`")
    return percent


def _mib(value: object) -> int:
    found = re.fullmatch(_MEMORY, value, re.ASCII) if isinstance(value, str) else None
    mib = int(found[1]) * _MIB[found[2]] if found else integer(value)
    if mib is None or mib < 1:
        raise expected("an amount of memory such as `256 GiB`, or a number of MiB")
    return mib


def _seconds(value: object) -> int:
    seconds = duration(value) if isinstance(value, str) else None
    if not seconds:
        raise expected("a duration such as `36h` or `1d`")
    return seconds


Factor = Annotated[int, Validator(_percent, {"type": "string", "pattern": f"^{_FACTOR}$"})]
Memory = Annotated[int, Validator(_mib, {"type": ["string", "integer"], "pattern": f"^{_MEMORY}$", "minimum": 1})]
Duration = Annotated[int, Validator(_seconds, {"type": "string", "pattern": DURATION_PATTERN})]
Times = Annotated[int, int_range(0, MAX_TIMES)]


class MoreMemory(StrictModel):
    """How much more memory the next attempt requests after a lack of memory."""

    memory: Factor = 150
    """The factor between the requests of two attempts, such as `x1.5`."""
    up_to: Memory | None = None
    """The most memory of a task, such as `256 GiB`. Default: what the nodes of the partition have."""
    times: Times = 1
    """How often the request grows; 0 for never."""

    @property
    def more(self) -> More:
        """The growth of the request, in MiB."""
        return More(percent=self.memory, most=self.up_to, times=self.times)


class MoreTime(StrictModel):
    """How much longer the time limit of the next attempt is after the time limit was reached."""

    time: Factor = 200
    """The factor between the limits of two attempts, such as `x2`."""
    up_to: Duration | None = None
    """The longest time limit, such as `1d`. Default: that of the partition."""
    times: Times = 1
    """How often the limit grows; 0 for never."""

    @property
    def more(self) -> More:
        """The growth of the limit, in seconds."""
        return More(percent=self.time, most=self.up_to, times=self.times)


class RetryWithOfRole(StrictModel):
    """What the next attempt of a job gets more of for one role."""

    out_of_memory: MoreMemory | None = None
    """More memory, after a task of the role used more than it requested."""


class RetryWith(RetryWithOfRole):
    """What the next attempt of a job gets more of, by the cause of the last end."""

    timeout: MoreTime | None = None
    """A longer time limit, after the attempt reached its limit."""

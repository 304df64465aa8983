"""The NUMA domains of a node in a site profile: their CPUs, GPUs and adapters."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Annotated, TypeVar

from ..folded_names import folded, ranges
from ..plural import counted
from ..validation.strict_model import JsonSchema, StrictModel, Validator, expected, integer, pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .partitions import Shape

LIST = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", re.ASCII)
"""Numbers in Linux's form. Source: cpuset(7), List format."""
_SCHEMA: JsonSchema = {"type": ["string", "integer"], "pattern": f"^(?:{LIST.pattern})$", "minimum": 0}
_Item = TypeVar("_Item", int, str)
AdapterName = Annotated[str, pattern("the name of an adapter such as `mlx5_0`", r"[A-Za-z0-9_.-]+")]


def _numbers(value: object) -> str:
    text = str(value) if integer(value) is not None else value
    if isinstance(text, str) and LIST.fullmatch(text) and all(map(numbers, text.split(","))):
        return text
    raise expected("numbers such as `0-15,128-143`")


NumberList = Annotated[str, Validator(_numbers, _SCHEMA)]


class Domain(StrictModel):
    """A NUMA domain of a node. Source: Linux, Documentation/ABI/stable/sysfs-devices-node."""

    cpus: NumberList
    """Its CPUs by Linux's numbers, such as `0-15,128-143`."""
    gpus: NumberList | None = None
    """Its GPUs, numbered on the node from 0 in the order of their PCI addresses, such as `0-1`."""
    adapters: tuple[AdapterName, ...] = ()
    """Its InfiniBand adapters, such as `mlx5_0`."""

    @property
    def cpu_numbers(self) -> list[int]:
        """The numbers of its CPUs."""
        return numbers(self.cpus)

    @property
    def gpu_numbers(self) -> list[int]:
        """The numbers of its GPUs."""
        return numbers(self.gpus or "")


def numbers(text: str) -> list[int]:
    """Return the numbers of a list; a range whose end is before its start has none.

    >>> numbers("0-2,8")
    [0, 1, 2, 8]
    """
    ends = (item.split("-") for item in text.split(",") if item)
    return [number for each in ends for number in range(int(each[0]), int(each[-1]) + 1)]


def domain_faults(shape: Shape) -> Iterator[tuple[str, str]]:
    """Yield what cannot be true of a node's domains: the message and the hint."""
    domains = shape.domains
    if not domains:
        return
    cpus = Counter(number for each in domains for number in each.cpu_numbers)
    gpus = Counter(number for each in domains for number in each.gpu_numbers)
    adapters = Counter(name for each in domains for name in each.adapters)
    repeated = [
        ("CPU", ranges(_repeated(cpus))),
        ("GPU", ranges(_repeated(gpus))),
        ("adapter", folded(_repeated(adapters))),
    ]
    for what, which in repeated:
        if which:
            yield f"the domains list {what} {which} more than once", "list each once"
    if len(cpus) < shape.cpus and not _repeated(cpus):
        message = f"the domains have {counted(len(cpus), 'CPU')}, fewer than the {shape.cpus} of the node"
        yield message, "compare with `lscpu` on the node"
    if any(each.gpus is not None for each in domains) and set(gpus) != set(range(shape.gpus)):
        have = f"the GPUs {ranges(gpus)}" if gpus else "no GPU"
        message = f"the domains list {have}, but the node has {counted(shape.gpus, 'GPU')}"
        yield message, "number them from 0 and list each once, or remove `gpus` from all domains"


def _repeated(counts: Counter[_Item]) -> list[_Item]:
    return [item for item, count in counts.items() if count > 1]

"""What `scontrol show node` says: what nodes have, and which partitions they are in."""

from __future__ import annotations

import re

from msgspec import Struct

from ...sbatch_forms import is_plain
from ...validation.strict_model import MAX_INT
from ..partitions import GRES_PATTERN, Shape
from .records import number, records

_AWAY = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN"})
_FUTURE = "FUTURE"
_COUNT = re.compile(r"(\d{1,15})([KMGTP]?)", re.ASCII)
_MULTIPLES = {suffix: 1024**power for power, suffix in enumerate(("", "K", "M", "G", "T", "P"))}
_GRES = re.compile(GRES_PATTERN, re.ASCII)
GPU = "gpu"


class Gres(Struct, frozen=True, kw_only=True):
    """Hold a generic resource of a node, `gpu:v100:4`."""

    name: str
    type: str
    count: int


class Node(Struct, frozen=True, kw_only=True):
    """Describe a node; `shape` is that of this one node. `away` says whether jobs cannot have it now."""

    name: str
    partitions: tuple[str, ...]
    shape: Shape
    gres: tuple[Gres, ...] = ()
    away: bool = False

    @property
    def gpu_types(self) -> set[str]:
        """Return the types of its GPUs, one of them "" where Slurm counts some without a type."""
        return {each.type for each in self.gres if each.name == GPU}


def nodes(text: str) -> tuple[Node, ...]:
    """Read the answer, without nodes that are yet to come (FUTURE). Source: scontrol(1), NODES."""
    found = (_node(fields) for fields in records(text, "NodeName") if _FUTURE not in _state(fields))
    return tuple(node for node in found if all(0 < n <= MAX_INT for n in (node.shape.cpus, node.shape.memory_mib)))


def _node(fields: dict[str, str]) -> Node:
    found = gres(fields.get("Gres", ""))
    gpus = [each for each in found if each.name == GPU and each.count]
    types = {each.type for each in gpus}
    shape = Shape.of(
        count=1,
        cpus=number(fields.get("CPUEfctv", "")) or number(fields.get("CPUTot", "")),
        memory_mib=number(fields.get("RealMemory", "")) - number(fields.get("MemSpecLimit", "")),
        gpus=sum(each.count for each in gpus),
        gpu_type=types.pop() if len(types) == 1 else "",
        threads_per_core=_threads(fields),
        features=_features(fields.get("AvailableFeatures", "")),
        gres=_others(found),
    )
    return Node(
        name=fields["NodeName"],
        partitions=tuple(fields.get("Partitions", "").split(",")),
        shape=shape,
        gres=found,
        away=bool(_state(fields) & _AWAY),
    )


def _features(text: str) -> tuple[str, ...]:
    """Return the features that a job could ask for, in alphabetical order. Slurm may change which are active."""
    return tuple(sorted({word for word in text.split(",") if word and is_plain(word)}))


def _others(found: tuple[Gres, ...]) -> tuple[str, ...] | None:
    """Return the generic resources beside GPUs, each `hca:2`; None where a profile cannot have one of them."""
    texts = [":".join(filter(None, (each.name, each.type, str(each.count)))) for each in found if each.name != GPU]
    return tuple(sorted(texts)) if all(map(_GRES.fullmatch, texts)) else None


def _threads(fields: dict[str, str]) -> int:
    """Return the threads of a core, 1 where Slurm counts cores as CPUs. `Sockets` are those of all boards."""
    threads = number(fields.get("ThreadsPerCore", ""))
    cores = number(fields.get("Sockets", "")) * number(fields.get("CoresPerSocket", ""))
    return threads if cores and number(fields.get("CPUTot", "")) >= cores * threads else 1


def _state(fields: dict[str, str]) -> set[str]:
    """Return the words of a state such as `DOWN*+DRAIN` or `IDLE+CLOUD+POWERED_DOWN`."""
    return set(re.findall(r"[A-Z_]+", fields.get("State", "")))


def gres(text: str) -> tuple[Gres, ...]:
    """Return what `gpu:a100:4(S:0-1),hca:2` names. Source: slurm.conf(5), Gres; scontrol adds the sockets."""
    items = re.sub(r"\([^)]*\)", "", text).split(",")
    return tuple(_gres(item.split(":")) for item in items if item)


def counted(text: str) -> int | None:
    """Return a count such as `4` or `2T`, None for what is none."""
    found = _COUNT.fullmatch(text)
    return int(found[1]) * _MULTIPLES[found[2]] if found else None


def _gres(words: list[str]) -> Gres:
    words = [word for word in words if word != "no_consume"]
    count = counted(words[-1]) if len(words) > 1 else None
    types = words[1:-1] if count is not None else words[1:]
    return Gres(name=words[0], type=types[0] if types else "", count=1 if count is None else count)

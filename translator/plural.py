"""Counts with their nouns, and amounts with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, plural unless the number is 1.

    >>> counted(1, "node"), counted(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def attempt_name(index: int, of: str = "") -> str:
    """Return the words for an attempt, counted from 1; its folder and its key in JSON keep OpenPAI's index, from 0.

    >>> attempt_name(0), attempt_name(1, "task")
    ('attempt 1', 'task attempt 2')
    """
    return f"{of} attempt {index + 1}".lstrip()


def some_of(names: Sequence[str], most: int) -> str:
    """Return at most `most` of the names, and the number of the others.

    >>> some_of(["a", "b"], 2), some_of(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def verb(number: int, one: str, more: str) -> str:
    """Return the singular or plural verb for a number.

    >>> verb(1, "is", "are"), verb(2, "is", "are")
    ('is', 'are')
    """
    return one if number == 1 else more


def used_text(cpus: float | None, memory: int, most: int | None, gpu: int | None, gpu_memory: int | None) -> str:
    """Return the usage of a task: `1.80 CPUs, 2.1 GiB of memory (at most 2.4 GiB), 71 % of its GPUs`."""
    peak = "" if most is None else f" (at most {memory_text(most)})"
    parts = [
        "" if cpus is None else f"{cpus:.2f} CPUs",
        f"{memory_text(memory)} of memory{peak}",
        "" if gpu is None else f"{gpu} % of its GPUs",
        "" if gpu_memory is None else f"{memory_text(gpu_memory)} of GPU memory",
    ]
    return ", ".join(filter(None, parts))


def memory_of_roles(memory: Mapping[str, int]) -> str:
    """Return the memory of roles in words.

    >>> memory_of_roles({"ps": 500, "worker": 1500})
    'ps 500 MiB, worker 1500 MiB'
    """
    return ", ".join(f"{name} {mib} MiB" for name, mib in memory.items())


def memory_text(mib: int | None) -> str:
    """Return an amount of memory with its unit: `512 MiB`, `1.5 GiB`."""
    if mib is None:
        return "-"
    return f"{mib} MiB" if mib < 1024 else f"{mib / 1024:.1f} GiB"


_UNITS = ("KiB", "MiB", "GiB", "TiB")
_NEXT, _SHORT = 1024, 10


def size_text(size: int) -> str:
    """Return bytes in a readable unit: `40 KiB`, `1.2 GiB`."""
    amount = size / _NEXT
    for unit in _UNITS:
        if amount < _NEXT or unit == _UNITS[-1]:
            break
        amount /= _NEXT
    return f"{amount:.1f} {unit}" if 0 < amount < _SHORT else f"{amount:.0f} {unit}"

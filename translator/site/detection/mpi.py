"""The list of plugins for MPI that srun prints."""

from __future__ import annotations

import re

_PLUGIN = re.compile(r"[a-z0-9_.]{1,32}")
_VERSIONS = re.compile(r"plugin versions available: *(.+)")
_PREFERRED = ("pmix", "pmi2")
_NONE = "none"


def mpi_plugins(text: str, default: str) -> tuple[str, ...]:
    """Return the plugins of `srun --mpi=list`, the usual one first: Slurm's default, else pmix, else pmi2.

    The list is a word a line, and versions of one in a line of their own. srun before 22.05 has `srun: ` before each.
    """
    words = [line.removeprefix("srun: ").strip() for line in text.splitlines()]
    words += [word.strip() for line in _VERSIONS.findall(text) for word in line.split(",")]
    found = [word for word in dict.fromkeys(words) if _PLUGIN.fullmatch(word) and word != _NONE]
    order = (default, *_PREFERRED)
    return tuple(sorted(found, key=lambda word: order.index(word) if word in order else len(order)))

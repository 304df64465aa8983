"""A version of Slurm, read from whatever names it: a profile, or what `sbatch --version` prints."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMED = re.compile(r"(?<![\w.])(\d\d)\.(\d\d)\.(\d{1,3})(?!\d)(?:[-.~]?\d*(rc|pre)\d*)?", re.ASCII)
"""`22.05.8`, `26.05.5-Debian`, `25.05.0-0rc1`. Source: slurm.spec and META of Slurm, Debian's packages."""


class SlurmVersion(NamedTuple):
    """Compare as versions do: a release candidate comes before its release."""

    year: int
    month: int
    micro: int
    released: bool = True

    def __str__(self) -> str:
        return f"{self.year:02}.{self.month:02}.{self.micro}" + ("" if self.released else "rc")


def slurm_version(text: str) -> SlurmVersion | None:
    """Return the version that a text names; None where it names none, or not all of one."""
    found = _NAMED.search(text)
    if found is None:
        return None
    year, month, micro, candidate = found.groups()
    return SlurmVersion(int(year), int(month), int(micro), candidate is None)

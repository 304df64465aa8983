"""The addresses of jobs: the first job of a name has the folder `user~job`, the second `user~job@2`.

A job's folder is never renamed, and no path is used twice: a new job gets the number after the last one of its name.
The removal of the last one leaves the name of its folder behind.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ..files.reading import read_lines
from .journal import append_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

REMOVED, MAX_REMOVED = ".removed", 64 << 20
"""The file with these names, a line each, beside the job folders, and the most bytes of it that are read."""
_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class Address(NamedTuple):
    """The name of a job, `user~job`, and its number among the jobs of that name, from 1."""

    name: str
    number: int

    def __str__(self) -> str:
        """Return the name of the job's folder."""
        return self.name if self.number == 1 else f"{self.name}@{self.number}"


def parse(folder: str) -> Address:
    """Return the address of a folder. The last `@` counts: the name of a user may contain one."""
    name, _, number = folder.rpartition("@")
    return Address(name, int(number)) if "~" in name and _NUMBER.fullmatch(number) else Address(folder, 1)


def newest(folders: Iterable[str]) -> dict[str, str]:
    """Return the folder of the newest job of each name."""
    return {address.name: str(address) for address in sorted(map(parse, folders))}


def numbers(jobs: Path, name: str) -> tuple[int, int]:
    """Return the number of the newest job of a name, and that of the newest removed one; 0 without one."""
    # An NFS client looks for a missing file again after it has listed the folder. Source: nfs(5), acdirmax.
    entries = os.listdir(jobs) if jobs.is_dir() else []  # noqa: PTH208 - few of thousands of names match
    removed = map(os.fsdecode, read_lines(jobs / REMOVED, MAX_REMOVED))
    return _last_of(entries, name), _last_of(removed, name)


def _last_of(folders: Iterable[str], name: str) -> int:
    """Return the last number of a name."""
    found = (parse(folder) for folder in folders if folder.startswith(name))
    return max((address.number for address in found if address.name == name), default=0)


def keep_number(folder: Path) -> None:
    """Leave the number of a folder behind if it is the last one of its name. Raises OSError."""
    address = parse(folder.name)
    if address.number >= max(numbers(folder.parent, address.name)):
        append_line(folder.with_name(REMOVED), os.fsencode(f"{folder.name}\n"))

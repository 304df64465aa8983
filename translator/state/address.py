"""The addresses of jobs, and the atomic creation of their folders: `user~job`, the next `user~job@2`."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from ..errors import Diagnostic, FolderError
from ..files.private import make_private, new_private, remove_tree, rename, sync_folder, write_durably, write_new
from ..files.reading import read_lines
from .journal import append_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from .job_folder import JobFolder, Store


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


ABANDONED_SECONDS = 24 * 3600
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a FolderError with the file's name and a hint."""
    try:
        yield
    except OSError as error:
        elsewhere = "set PAISLURM_HOME to a folder of your own that all nodes share"
        hints = {
            errno.ENOSPC: "free space there, or set PAISLURM_HOME to another shared file system",
            errno.EDQUOT: "remove some of your files there, or set PAISLURM_HOME to another shared file system",
            **dict.fromkeys((errno.EACCES, errno.EROFS, errno.ENOENT, errno.EEXIST, errno.ENOTDIR), elsewhere),
            errno.ENAMETOOLONG: "give the job a shorter name",
        }
        message = f"cannot write {error.filename or path}: {error.strerror or error}"
        raise FolderError(Diagnostic(code="E510", message=message, hint=hints.get(error.errno or 0, ""))) from error


def stage(store: Store, files: Mapping[str, bytes]) -> Path:
    """Write files into a new folder beside the job folders. After a FolderError, no files are left."""
    with writing(store.jobs):
        make_private(store.jobs)
        staged = store.jobs / f".new-{os.urandom(8).hex()}"
        new_private(staged)
    _clean_up(store.jobs)
    try:
        write_files(staged, files, staged=True)
    except BaseException:
        remove_tree(staged)
        raise
    return staged


def write_files(folder: Path, files: Mapping[str, bytes], *, staged: bool = False) -> None:
    """Write files into a folder by their relative paths. Raises FolderError.

    Nobody reads a `staged` folder yet: its files need no rename, and each of its folders is synced once.
    """
    with writing(folder):
        for name, data in files.items():
            file = folder / name
            for parent in reversed(file.relative_to(folder).parents[:-1]):
                (folder / parent).mkdir(mode=0o700, exist_ok=True)
            (write_new if staged else write_durably)(file, data)
        if staged:
            for parent in dict.fromkeys((folder / name).parent for name in files):
                sync_folder(parent)


def _clean_up(jobs: Path) -> None:
    """Remove day-old folders of killed submits."""
    for folder in jobs.glob(".new-*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                remove_tree(folder)


def publish(staged: Path, folder: JobFolder) -> bool:
    """Rename a staged folder to its final name. Return False if the name is taken: of two processes, one wins.

    While this process stalled, a job of that name may even have ended and been removed: then give the name back.
    """
    try:
        with writing(folder.path):
            rename(staged, folder.path)
            address = parse(folder.name)
            last, removed = numbers(folder.path.parent, address.name)
            if last > address.number or removed >= address.number:
                rename(folder.path, staged)
                return False
            sync_folder(folder.path.parent)
    except FolderError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _TAKEN:
            return False
        raise
    return True

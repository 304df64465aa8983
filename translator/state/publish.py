"""Create job folders atomically."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from ..files.private import make_private, new_private, remove_tree, rename, sync_folder, write_durably, write_new
from .address import numbers, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .job_folder import JobFolder, Store

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

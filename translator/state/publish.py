"""Job folders come to be whole or not at all: they are made aside and renamed, and back if need be."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from .job_folder import JobFolder
from .shared_files import make_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .job_folder import Store

ABANDONED_SECONDS = 24 * 3600
RETIRED = "retired"
RETIRING_SECONDS = 60
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError into a diagnostic that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        elsewhere = "set PAISLURM_HOME to a folder of your own that all nodes share"
        hints = {
            errno.ENOSPC: "make room there, or set PAISLURM_HOME to another shared file system",
            errno.EDQUOT: "remove files of yours there, or set PAISLURM_HOME to another shared file system",
            **dict.fromkeys((errno.EACCES, errno.EROFS, errno.ENOENT, errno.EEXIST, errno.ENOTDIR), elsewhere),
            errno.ENAMETOOLONG: "give the job a shorter name",
        }
        message = f"cannot write {error.filename or path}: {error.strerror or error}"
        raise FolderError(Diagnostic(code="E510", message=message, hint=hints.get(error.errno or 0, ""))) from error


def write_durably(path: Path, data: bytes) -> None:
    """Write a file such that it is there whole or not at all, whatever happens."""
    new = path.with_name(f".{path.name}.new-{os.urandom(4).hex()}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        new.replace(path)
        sync_folder(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the file system knows how."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def stage(store: Store, files: Mapping[str, bytes]) -> Path:
    """Write files into a new folder beside the job folders; FolderError leaves nothing behind."""
    with writing(store.jobs):
        make_private(store.jobs)
        staged = store.jobs / f".new-{os.urandom(8).hex()}"
        staged.mkdir(mode=0o700)
    _clean_up(store.jobs)
    try:
        write_files(staged, files)
    except BaseException:
        remove(staged)
        raise
    return staged


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder by their paths in it; FolderError if they cannot be."""
    with writing(folder):
        for name, data in files.items():
            file = folder / name
            for parent in reversed(file.relative_to(folder).parents[:-1]):
                (folder / parent).mkdir(mode=0o700, exist_ok=True)
            write_durably(file, data)


def _clean_up(jobs: Path) -> None:
    """Remove what submits that were killed left a day ago."""
    for folder in jobs.glob(".new-*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder, as far as that can be done."""
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)


def publish(staged: Path, folder: JobFolder) -> bool:
    """Give a staged folder its name; False if another one has it: of two that try, one wins."""
    try:
        with writing(folder.path):
            staged.rename(folder.path)
            sync_folder(folder.path.parent)
    except FolderError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _TAKEN:
            return False
        raise
    return True


def archive(folder: JobFolder, checked: int) -> JobFolder | None:
    """Move a finished job's folder to `<name>.<n>` and return it; None if another process is at it.

    `checked` is a descriptor of the very folder that was found finished. The mark is made through it, so that
    it never lands in another folder that has taken the name since; who makes the mark may rename.
    """
    with writing(folder.path):
        if not mark(checked):
            return None
        number = 0
        while True:
            number += 1
            old = JobFolder(path=folder.path.with_name(f"{folder.name}.{number}"))
            if old.path.exists():
                continue
            try:
                folder.path.rename(old.path)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
                continue
            return old


def mark(checked: int) -> bool:
    """Say in a folder, by its descriptor, that this process is about to rename it; False if another one is at it."""
    try:
        os.mkdir(RETIRED, 0o700, dir_fd=checked)
    except FileExistsError:
        return _take_over(checked)
    return True


def _take_over(checked: int) -> bool:
    """Take over from a process that made the mark and died; of two that try, one can rename the mark."""
    try:
        age = time.time() - os.stat(RETIRED, dir_fd=checked).st_mtime
        if age < RETIRING_SECONDS:
            return False
        os.rename(RETIRED, f"{RETIRED}-{os.urandom(4).hex()}", src_dir_fd=checked, dst_dir_fd=checked)
        os.mkdir(RETIRED, 0o700, dir_fd=checked)
    except FileNotFoundError:
        return False
    return True


def restore(old: JobFolder, folder: JobFolder) -> None:
    """Move a retired folder back to its name, unless the name is taken by now."""
    with suppress(OSError):
        old.path.rename(folder.path)
        (folder.path / RETIRED).rmdir()

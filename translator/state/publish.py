"""Create, rename and restore job folders atomically."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError
from ..files.private import make_private, new_private, remove_tree, sync_folder, write_durably, write_new
from .job_folder import JobFolder

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
    """Rename a staged folder to its final name. Return False if the name is taken: of two processes, one wins."""
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
    """Move a finished job's folder to `<name>.<n>` and return it, None if another process is moving it.

    `checked` is a descriptor of the folder that was found finished. The mark is made through it, never in a folder
    that has taken the name since. Only the process that makes the mark may rename.
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
                return old if move(checked, folder.path, old.path) else None
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise


def move(checked: int, path: Path, new: Path) -> bool:
    """Rename a folder, by its descriptor. Return False if another folder has taken its name. Raises OSError.

    This process may stall before any call, even until another job has the name. So look before the rename, and again
    after it, and give the name back. An NFS client looks a name up again after it has listed the folder of the name.
    Source: nfs(5), acdirmax.
    """
    os.listdir(path.parent)  # noqa: PTH208 - the names are not used
    if not _has_name(checked, path):
        return False
    path.rename(new)
    if _has_name(checked, new):
        return True
    with suppress(OSError):
        new.rename(path)
    return False


def _has_name(checked: int, path: Path) -> bool:
    """Return whether a path is that of a folder, by its descriptor."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(checked))
    return False


def mark(checked: int) -> bool:
    """Mark a folder, by its descriptor, as about to be renamed. Return False if another process has marked it."""
    try:
        os.mkdir(RETIRED, 0o700, dir_fd=checked)
    except FileExistsError:
        return _take_over(checked)
    return True


def _take_over(checked: int) -> bool:
    """Take over the mark of a process that died. Of two processes, only one can rename the mark."""
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
    """Rename an archived folder back, unless the name is taken."""
    with suppress(OSError):
        old.path.rename(folder.path)
        (folder.path / RETIRED).rmdir()

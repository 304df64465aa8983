"""Keep here what attempts have said there: claims, results, reports and logs, as if their folders were shared."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from . import errors
from .mirrored import mirrored
from .news import GarbledError, answer, question
from .remote_script import remote_script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import RunFolder
    from .address import Address
    from .runner import SshRunner

MOST = 4 << 20
"""Bytes of a file that are sent at a time."""
SECONDS = 120.0
ROUNDS = 10_000


class Brought(NamedTuple):
    """Say whether anything has come, and by how many seconds our clock is ahead of the one there."""

    anything: bool
    ahead: float


NOTHING = Brought(anything=False, ahead=0.0)


def bring(address: Address, runner: SshRunner, run_folders: Sequence[RunFolder], root: str) -> Brought:
    """Bring what is new of attempts.

    `root` is the folder there of all jobs that come from elsewhere. UnreachableError unless all of it is here.
    """
    with ExitStack() as stack:
        # A job that is gone by now keeps nobody else's news back.
        attempts = [stack.enter_context(mirrored(each)) for each in run_folders if each.folder.is_dir()]
        anything = False
        for _ in range(ROUNDS):
            wanted = [each.wanted(f"{root}/{name_there(each.run_folder)}") for each in attempts]
            began = time.time()
            done = runner.exchange(remote_script("news", str(MOST)), stdin=question(wanted), timeout=SECONDS)
            try:
                news = answer(done.stdout, wanted)
            except GarbledError as error:
                raise errors.broken(address, f"news: {error}") from None
            ahead = (began + time.time()) / 2 - news.time
            for each, asked in zip(attempts, wanted, strict=True):
                each.take([piece for piece in news.pieces if piece.folder == asked.folder], ahead)
            anything = anything or bool(news.pieces)
            if not news.more:
                return Brought(anything, ahead)
            if not news.pieces:
                break
    raise errors.broken(address, "news: it never ends")


def name_there(run_folder: RunFolder) -> str:
    """Return the name that a job's folder has there: the tag makes sure that no other has it."""
    return f"{run_folder.job}.{run_folder.tag.partition('.')[0].removeprefix('paislurm-')}"

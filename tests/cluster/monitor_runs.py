"""Rounds of `monitor --once`, as cron makes them where no process may stay on a login node."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.cluster.processes import wait_until
from tests.cluster.watched import LONGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.watched import Watched


def has_ended(job: Watched) -> Callable[[], bool]:
    return lambda: any(record["kind"] == "ended" for record in job.journal())


@contextmanager
def cron(*jobs: Watched) -> Iterator[None]:
    """Call `monitor --once` for jobs again and again, as cron does in a home of each."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(2):
            for job in jobs:
                job.run("monitor", "--once")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def ended_by_cron(job: Watched) -> None:
    """Let cron come to a job whose script has called a monitor, until the job has ended."""
    called = job.path / "attempts/0/slurm.log"
    wait_until(lambda: called.exists() and "the monitor " in called.read_text(), f"a step of {job.name}", LONGEST)
    with cron(job):
        wait_until(has_ended(job), f"the end of {job.name}", LONGEST)

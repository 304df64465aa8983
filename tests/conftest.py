"""How all tests are laid out: which belong to the cluster, and which stay together when several processes run them."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.cluster import horovod
from tests.cluster.instance import NEEDS_HOSTS, unprivileged
from tests.cluster.jobs import ROOT
from tests.cluster.left_behind import FAILED
from tests.cluster.running import in_turn
from tests.needs import other_users, runs_programs
from tests.order import CLUSTER, CONTRACT, cluster_of, needs_horovod, ordered, stays_together

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["tests.left_out", "tests.tally"]

# A machine that does much besides is slow at times, which says nothing of a property.
settings.register_profile("paislurm", deadline=None)
settings.load_profile("paislurm")

# A shell that starts a command with `&` has it ignore these, and so do all that it starts: tests that interrupt a
# program would wait for ever. Source: POSIX, Shell Command Language, Asynchronous Lists.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


# Whatever the caller's shell has: tests make files that others read, and programs that they run.
os.umask(0o022)
if not runs_programs(tempfile.gettempdir()):
    tempfile.tempdir = os.environ["TMPDIR"] = next(filter(runs_programs, ("/tmp", "/var/tmp", str(ROOT))))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a cluster, and put all tests in their order."""
    if "PAISLURM_CHAOS" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("chaos")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    _skip_what_needs_root(items)
    for item in items:
        if {CLUSTER, CONTRACT} & set(item.path.parents):
            item.add_marker(pytest.mark.cluster)
    items[:] = ordered(items)


def _skip_what_needs_root(items: list[pytest.Item]) -> None:
    """Skip what is marked `root` for other users, and `disruptive` without namespaces, before a job is started."""
    for item in items:
        if not other_users() and (mark := item.get_closest_marker("root")):
            item.add_marker(pytest.mark.skip(reason=f"needs root, {mark.args[0]}"))
        if unprivileged() and item.get_closest_marker("disruptive"):
            item.add_marker(pytest.mark.skip(reason=NEEDS_HOSTS.format("nodes that can be taken away")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note for what is tidied after it that a test has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Have one's turn on the cluster that a test is for; tests without a cluster need none.

    Not in a conftest below: the processes of `pytest -n` call the hooks of all of them for each test.
    """
    with contextlib.ExitStack() as stack:
        if needs_horovod(item):
            # Before it has its turn, which others may wait to end.
            horovod.wait()
        if cluster := cluster_of(item):
            stack.enter_context(in_turn(item, *cluster))
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what held on which Slurm. Here, since the process that prints loads no conftest below."""
    from tests.contract.table import write_table

    write_table(terminalreporter)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give out work for `pytest -n`: a test on the cluster goes by itself, other tests stay with their file."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.partition("::")[0] if stays_together(nodeid) else nodeid

    config.option.loadscopereorder = False
    return Scheduler(config, log)

"""How all tests are laid out: which belong to the cluster, and which stay together when several processes run them."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.cluster import horovod
from tests.cluster.kinds import USUAL
from tests.cluster.left_behind import FAILED
from tests.cluster.running import in_turn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# A machine that does much besides is slow at times, which says nothing of a property.
settings.register_profile("paislurm", deadline=None)
settings.load_profile("paislurm")

# A shell that starts a command with `&` has it ignore these, and so do all that it starts: tests that interrupt a
# program would wait for ever. Source: POSIX, Shell Command Language, Asynchronous Lists.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

CLUSTER = Path(__file__).parent / "cluster"
CONTRACT = Path(__file__).parent / "contract"
TOGETHER = ("tests/cluster/test_monitor.py", "tests/cluster/test_images.py")
"""Files of the cluster whose tests look at the same jobs, or ask the same registry."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what waits longest; what needs the cluster alone comes among tests that do not need it."""
    if "PAISLURM_CHAOS" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("chaos")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    _skip_what_needs_root(items)
    waiting: list[pytest.Item] = []
    alone: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        if not {CLUSTER, CONTRACT} & set(item.path.parents):
            others.append(item)
            continue
        item.add_marker(pytest.mark.cluster)
        together = item.nodeid.startswith(TOGETHER)
        (alone if item.get_closest_marker("exclusive") and not together else waiting).append(item)
    # What needs Horovod comes when that is built, which began with all this.
    waiting.sort(key=lambda item: (_needs_horovod(item), not item.nodeid.startswith(TOGETHER)))
    # The last ones begin when a third is still to come, so that nobody waits for them at the end.
    between = len(others) * 2 // 3 // max(1, len(alone))
    for number, item in enumerate(alone):
        others.insert(number * (between + 1), item)
    items[:] = waiting + others


def _needs_horovod(item: pytest.Item) -> bool:
    return not {"horovod_venv", "image_with_horovod"}.isdisjoint(getattr(item, "fixturenames", ()))


def _skip_what_needs_root(items: list[pytest.Item]) -> None:
    """Skip for other users what is marked `root`, with the reason that the mark has."""
    if os.geteuid() == 0:
        return
    for item in items:
        mark = item.get_closest_marker("root")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"needs root, {mark.args[0]}"))


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
        if _needs_horovod(item):
            # Before it has its turn, which others may wait to end.
            horovod.wait()
        if CLUSTER in item.path.parents:
            stack.enter_context(in_turn(item))
        elif CONTRACT in item.path.parents:
            callspec = getattr(item, "callspec", None)
            slurm = callspec.params.get("site", "site") if callspec else "site"
            if slurm != "site":
                stack.enter_context(in_turn(item, slurm, getattr(item.module, "KIND", USUAL)))
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
            file = nodeid.partition("::")[0]
            return nodeid if file.startswith(("tests/cluster/", "tests/contract/")) and file not in TOGETHER else file

    config.option.loadscopereorder = False
    return Scheduler(config, log)

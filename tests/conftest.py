"""How all tests are laid out: which belong to the cluster, and which stay together when several processes run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

CLUSTER = Path(__file__).parent / "cluster"
TOGETHER = ("tests/cluster/test_monitor.py", "tests/cluster/test_images.py")
"""Files of the cluster whose tests look at the same jobs, or ask the same registry."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what waits longest; what needs the cluster alone comes among tests that do not need it."""
    waiting: list[pytest.Item] = []
    alone: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        if CLUSTER not in item.path.parents:
            others.append(item)
            continue
        item.add_marker(pytest.mark.cluster)
        together = item.nodeid.startswith(TOGETHER)
        (alone if item.get_closest_marker("alone") and not together else waiting).append(item)
    waiting.sort(key=lambda item: not item.nodeid.startswith(TOGETHER))
    # The last ones begin when a third is still to come, so that nobody waits for them at the end.
    between = len(others) * 2 // 3 // max(1, len(alone))
    for number, item in enumerate(alone):
        others.insert(number * (between + 1), item)
    items[:] = waiting + others


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give out work for `pytest -n`: a test on the cluster goes by itself, other tests stay with their file."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if file.startswith("tests/cluster/") and file not in TOGETHER else file

    config.option.loadscopereorder = False
    return Scheduler(config, log)

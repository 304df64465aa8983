"""The order of all tests: those that wait go beside those that compute, so that neither processors nor clusters idle.

Tests of a real Slurm mostly wait for it, all others mostly compute. Each lane has its part of the run, over which its
tests are spread evenly: thus tests that exclude each other are far apart. Those that need a cluster alone have a time
of their own, in which other Slurms have company, so that few processes wait for their turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.kinds import OWN, USUAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

    from tests.cluster.kinds import Kind

CLUSTER = Path(__file__).parent / "cluster"
CONTRACT = Path(__file__).parent / "contract"
TOGETHER = ("tests/cluster/test_monitor.py", "tests/cluster/test_images.py", "tests/cluster/test_no_monitor.py")
"""Files of the cluster whose tests look at the same jobs, or ask the same registry."""
APART = (
    *("tests/cluster/", "tests/contract/", "tests/unit/pages/test_blocks.py", "tests/unit/protocol/test_linear.py"),
    "tests/unit/test_recipes.py",
)
"""How files begin whose tests go by themselves, because they take long: those of others stay with their file."""
FILES, FIRST, HOROVOD = (0, 1), (0, 0), (0.55, 0.6)
COMPANY, ALONE = (0, 0.5), (0.5, 0.8)
COMPANY_OF_NEWEST, ALONE_OF_NEWEST = (0.5, 0.8), (0, 0.5)
"""Parts of the run: where the first test of a lane is, and where its last one is. Nobody waits at the end of all."""


def cluster_of(item: pytest.Item) -> tuple[str, Kind] | None:
    """Return which Slurm and which kind of site a test needs of the project's own, None for a test without any."""
    if CLUSTER in item.path.parents:
        return OWN, USUAL
    if CONTRACT not in item.path.parents:
        return None
    callspec = getattr(item, "callspec", None)
    slurm = callspec.params.get("site", "site") if callspec else "site"
    return None if slurm == "site" else (slurm, getattr(getattr(item, "module", None), "KIND", USUAL))


def needs_horovod(item: pytest.Item) -> bool:
    """Return whether Horovod must be built before a test: it comes late, since that began with all this."""
    return not {"horovod_venv", "image_with_horovod"}.isdisjoint(getattr(item, "fixturenames", ()))


def stays_together(nodeid: str) -> bool:
    """Return whether a test goes with its file, to one process."""
    return nodeid.startswith(TOGETHER) or not nodeid.startswith(APART)


def ordered(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return tests in the order in which they begin."""
    lanes: dict[tuple[object, ...], dict[str, list[pytest.Item]]] = {}
    for item in items:
        whole = item.nodeid.partition("::")[0] if stays_together(item.nodeid) else item.nodeid
        lanes.setdefault(_lane(item), {}).setdefault(whole, []).append(item)
    places = [
        (first + (last - first) * number / len(lane), unit)
        for ((first, last), *_), lane in lanes.items()
        for number, unit in enumerate(lane.values())
    ]
    return [item for _, unit in sorted(places, key=lambda each: each[0]) for item in unit]


def _lane(item: pytest.Item) -> tuple[object, ...]:
    """Return the part of the run, and what tells apart lanes that have the same one."""
    if not {CLUSTER, CONTRACT} & set(item.path.parents):
        return (FILES,)
    if item.nodeid.startswith(TOGETHER):
        return (FIRST,)
    if needs_horovod(item):
        return (HOROVOD,)
    cluster = cluster_of(item)
    marks = [mark for mark in ("exclusive", "disruptive") if item.get_closest_marker(mark)]
    parts = (COMPANY_OF_NEWEST, ALONE_OF_NEWEST) if cluster and cluster[0] == "newest" else (COMPANY, ALONE)
    return (parts["exclusive" in marks], cluster, *marks)

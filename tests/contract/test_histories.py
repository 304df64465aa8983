"""Users on two login nodes, whose commands are killed at any moment: nothing is lost, and nothing runs twice.

`make histories` plays longer ones, in which services, nodes and the disk go away too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.kinds import KINDS
from tests.histories.checker import check
from tests.histories.driver import Driver
from tests.histories.evidence import collect, read
from tests.histories.faults import Faults
from tests.histories.people import Plan

if TYPE_CHECKING:
    from tests.contract.site import Site

KIND = KINDS["logins"]
OPERATIONS = 100


@pytest.mark.exclusive
def test_no_history_breaks_a_promise(site: Site) -> None:
    site.require("several users")
    cluster = site.administrator
    driver = Driver(cluster, Plan(operations=OPERATIONS, stalls=False), cluster.instance.folder / "history")
    faults = Faults(cluster, seed=1, services=False)
    faults.begin()
    try:
        driver.work()
    finally:
        faults.end()
    collect(driver, driver.settle())
    found = check(read(driver.folder))
    assert not found.violations, found.violations
    assert found.counts["operations"] == OPERATIONS
    assert found.counts["of them killed"] > 0
    assert found.counts["tasks that began"] > OPERATIONS / 10

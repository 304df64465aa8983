"""Show the bill: what was asked of Slurm for the user in the last day, and what that cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ...monitor.asking.bill import DAY, HOUR, MONITOR, costs, retry_times
from .console import log, print_json
from .tables import print_table

if TYPE_CHECKING:
    from ...app.session import Session
    from ...monitor.asking.bill import Cost

HOURS = DAY // HOUR


def show_bill(session: Session, most: int, *, as_json: bool) -> None:
    """Print the calls of the last day by program. `most` is how many attempts the site allows in an hour."""
    now = time.time()
    calls = session.bill.calls(now - DAY)
    found = costs(calls)
    asked = [cost for cost in found if cost.program != MONITOR]
    own = sum(cost.cpu for cost in found if cost.program == MONITOR)
    retries = sum(when > now - HOUR for when in retry_times(calls))
    if as_json:
        rows = [
            {"program": cost.program, "calls": cost.calls, "failed": cost.failed, "cpu_seconds": round(cost.cpu, 3)}
            for cost in asked
        ]
        document = {"hours": HOURS, "programs": rows, "monitor_cpu_seconds": round(own, 3)}
        print_json(document | {"retries_in_last_hour": retries, "max_attempts_per_hour": most})
        return
    if asked:
        print_table(("program", "calls", "failed", "CPU seconds"), [_row(cost) for cost in asked])
    else:
        log(f"nothing was asked of Slurm in the last {HOURS} hours")
    log(f"the monitor itself used {own:.1f} CPU seconds in these {HOURS} hours")
    log(f"{retries} of {most} retries were submitted in the last hour")


def _row(cost: Cost) -> tuple[str, ...]:
    return cost.program, str(cost.calls), str(cost.failed), f"{cost.cpu:.2f}"

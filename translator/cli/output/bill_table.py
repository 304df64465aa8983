"""Print the bill: what was asked of Slurm for the user in the last day, and what that cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .console import log
from .tables import print_table

if TYPE_CHECKING:
    from ...app.bill import SlurmBill


def print_bill(bill: SlurmBill) -> None:
    """Print the calls of the last day by program."""
    rows = [(each.program, str(each.calls), str(each.failed), f"{each.cpu_seconds:.2f}") for each in bill.programs]
    if rows:
        print_table(("program", "calls", "failed", "CPU seconds"), rows)
    else:
        log(f"nothing was asked of Slurm in the last {bill.hours} hours")
    log(f"the monitor itself used {bill.monitor_cpu_seconds:.1f} CPU seconds in these {bill.hours} hours")
    log(f"{bill.retries_in_last_hour} of {bill.max_attempts_per_hour} retries were submitted in the last hour")

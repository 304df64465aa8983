"""What `submit --test-only` prints: when the job would start, and the GPUs of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.estimate.estimate import LOCAL
from ...app.submit.after import text_of
from .console import log, print_result
from .estimate_words import gpus_text, start_text

if TYPE_CHECKING:
    from ...app.estimate.estimate import Estimate


def print_estimate(found: Estimate) -> None:
    """Print when a job would start."""
    job, submitted = found.submitted.job, found.submitted
    if submitted.backend == LOCAL:
        print_result(f"{job} would start at once on this machine: the backend local has no queue")
    else:
        components = found.component_count
        print_result(start_text(job, found.start, found.partitions, components=components, now=found.now))
        for pool in found.pools:
            if pool.total:
                print_result(gpus_text(pool))
    if submitted.after:
        log(f"it waits first: it is submitted after {text_of(submitted.after)}")

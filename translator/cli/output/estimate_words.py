"""What is said of a start that Slurm expects, and of GPUs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.estimate.gpus import UP
from ...plural import counted
from ...times import duration_text, format_time

GPU_COLUMNS = ("PARTITION", "TYPE", "GPUS", "FREE", "JOBS WAITING", "NOTE")

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.estimate.gpus import Pool
    from ...app.estimate.start import Start


def start_text(name: str, start: Start, partitions: Sequence[str], *, components: int, now: int) -> str:
    """Say when a job would start, where, and who says so.

    `sbatch --test-only` leaves backfill out of its estimate: of a job for which there is room now it can say much later
    (observed on 24.11), and such a job may start at once.
    """
    seconds = start.seconds_from(now)
    if start.at is None or seconds is None:
        return f"Slurm cannot say when {name} would start: {start.reason}"
    named = [start.partition] if start.partition else [*partitions]
    where = f" in partition{'s' * (len(named) > 1)} {' and '.join(named)}" if named else ""
    place = f"{f' on {start.nodes}' if start.nodes else ''}{where}"
    when = f"{format_time(start.at)} (in {duration_text(seconds)})"
    if seconds and start.resources_free:
        said = (
            f"resources for {name} are free now: by backfill it may start at once, if its time limit ends before jobs "
            f"ahead of it need them; Slurm's own estimate, without backfill, is {when}{place}"
        )
    else:
        said = f"{name} would start {f'at {when}' if seconds else 'at once'}{place}, says Slurm"
    if start.preempts:
        jobs = "job" if len(start.preempts) == 1 else "jobs"
        said += f"; {jobs} {', '.join(start.preempts)} would give way"
    if components > 1:
        said += f"; it looks at each of the {components} components by itself, and together they may start later"
    return said


def gpus_text(pool: Pool) -> str:
    """Say how many GPUs of a partition are free, and who waits for some."""
    types = ", ".join(f"{each.name} {each.free} of {each.total}" for each in pool.types if each.name)
    parts = [
        f"{pool.free} of {pool.total} free" + (f" ({types})" if types else ""),
        *([f"{pool.stranded} more on nodes without a free CPU"] if pool.stranded else []),
        *([f"{pool.away} on nodes that are out of order or reserved"] if pool.away else []),
        _waiting(pool),
    ]
    return f"GPUs in partition {pool.partition} now: {', '.join(parts)}"


def gpu_rows(pool: Pool) -> list[tuple[str, ...]]:
    """Return a row of a table for each type of GPU of a partition; who waits is said once, in the first."""
    waits = f"{pool.waiting_jobs} for {pool.waiting_gpus}" if pool.waiting_jobs else "-"
    notes = [] if pool.state == UP else [f"partition is {pool.state}"]
    if pool.stranded:
        notes.append(f"{counted(pool.stranded, 'GPU')} without a free CPU")
    if pool.away:
        notes.append(f"{counted(pool.away, 'GPU')} out of order or reserved")
    last = (waits, "; ".join(notes))
    return [
        (
            pool.partition,
            each.name or "-",
            str(each.total),
            str(each.free),
            *(last if each is pool.types[0] else ("", "")),
        )
        for each in pool.types
    ]


def _waiting(pool: Pool) -> str:
    if not pool.waiting_jobs:
        return "no waiting job asks for any"
    asks = "asks" if pool.waiting_jobs == 1 else "ask"
    return f"{counted(pool.waiting_jobs, 'waiting job')} {asks} for {pool.waiting_gpus}"

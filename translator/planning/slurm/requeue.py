"""Jobs that Slurm restarts after the loss of a node, before all that wait. Source: sbatch(1), --requeue; 25.11."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Diagnostic

if TYPE_CHECKING:
    from ...job import Job
    from ...site.profile import Site
    from ..layout.layout import LayoutKind


def requeues(job: Job, site: Site, layout: LayoutKind) -> bool:
    """Return whether Slurm restarts the job after the loss of a node."""
    return job.slurm_options.requeue is not None and not _why_not(job, site, layout)


def _why_not(job: Job, site: Site, layout: LayoutKind) -> str:
    if not site.scheduler.expedited_requeue:
        return "the site profile does not say that its Slurm can (`scheduler: {expeditedRequeue: true}`)"
    if layout == "het":
        return "the layout het has several components, of which Slurm restarts none"
    if job.slurm_options.spare:
        return "Slurm restarts no job that goes on after the loss of a node, as one with spare nodes does"
    if not site.retry.max_transient_retries:
        return "the site profile allows no retries after transient failures (`retry.maxTransientRetries`)"
    return ""


def requeue_warnings(job: Job, site: Site, layout: LayoutKind) -> tuple[Diagnostic, ...]:
    """Warn of a job that Slurm does not restart, although it asks for that."""
    if job.slurm_options.requeue is None or not (why := _why_not(job, site, layout)):
        return ()
    message = f"Slurm will not restart the job after the loss of a node: {why}"
    hint = "a lost node leads to a fresh attempt; remove `requeue` to silence this"
    return (Diagnostic(code="W416", message=message, path="$.extras.slurm.requeue", hint=hint),)

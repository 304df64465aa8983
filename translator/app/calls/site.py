"""Calls about the site, and about what is asked of its Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    import os

    from ..bill import SlurmBill
    from ..estimate.gpus import PartitionGpus
    from ..job_run import JobRun
    from ..monitoring import Worked
    from ..site.ask import ProbeOptions
    from ..site.check import CheckedJobs, CheckedProfile
    from ..site.detecting import DetectedSite
    from ..site.in_force import SiteInForce


class SiteCalls(Calls):
    """Detect, show and check the site, and look after jobs."""

    def site_detect(
        self,
        output: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        host: str | None = None,
        probe: ProbeOptions | None = None,
    ) -> DetectedSite:
        """Return a site profile by what Slurm says here, or at the login node `host`, and write it to `output`.

        A file that differs stays as it is; `force` writes over it and keeps the older one. With `probe` a short job
        looks at one node. Raises BackendError if Slurm does not answer.
        """
        from ..site.detecting import detect_site

        with self._call():
            return detect_site(self, output, force=force, host=host, probe=probe)

    def site_show(self) -> SiteInForce:
        """Return every setting of the site profile in force, and where it comes from; SiteError for a wrong profile."""
        from ..site.in_force import site_in_force

        with self._call():
            return site_in_force(self)

    def site_check(self, *files: str) -> CheckedJobs | CheckedProfile:
        """Return what job files would have here or why they can never start; without any, what is wrong with the site.

        Nothing is submitted. Raises SiteError for a wrong profile, and where there is neither a profile nor a Slurm
        that answers.
        """
        from ..site.check import check_site

        with self._call():
            return check_site(self, files)

    def site_gpus(self, *partitions: str, host: str | None = None) -> list[PartitionGpus]:
        """Return the GPUs of partitions, of all without a name: how many, how many are free, and how many jobs wait.

        Raises NotFoundError for a partition without nodes, and BackendError if Slurm does not answer.
        """
        from ..estimate.ask import site_gpus

        with self._call():
            return [pool.printed for pool in site_gpus(self, partitions, host)]

    def monitor(self, job: JobRun | str | None = None) -> Worked:
        """Poll all jobs once and do what is due: write down how they end, submit the attempts that are due.

        With `job` only that one, whose attempt has just ended.
        """
        from ..monitoring import Worked, monitor_job, run_monitor

        with self._call():
            if job is not None:
                return monitor_job(self, self._folder(job).name)
            return run_monitor(self, once=True) or Worked(worked=True)

    def slurm_bill(self) -> SlurmBill:
        """Return what was asked of Slurm for this user in the last 24 hours, by all commands and monitors."""
        from ..bill import slurm_bill

        with self._call():
            return slurm_bill(self)

"""Calls about the site, and about the calls to its Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    import os

    from ..call_log import SlurmCalls
    from ..client import JobRun
    from ..monitoring import Worked
    from ..site.ask import ProbeOptions
    from ..site.check import CheckedJobs, CheckedProfile
    from ..site.detecting import DetectedSite
    from ..site.in_force import SiteInForce


class SiteCalls(Calls):
    """Detect, show and check the site, and monitor jobs."""

    def site_detect(
        self,
        output: str | os.PathLike[str] | None = None,
        *,
        force: bool = False,
        host: str | None = None,
        probe: ProbeOptions | None = None,
    ) -> DetectedSite:
        """Return a site profile from Slurm's configuration, and write it to `output` if given.

        `host` is the login node to query; default: this machine. A different file is not changed; `force` overwrites
        it and keeps the old one. With `probe`, a short job inspects one node. Raises BackendError if Slurm does not
        answer.
        """
        from ..site.detecting import detect_site

        with self._call():
            return detect_site(self, output, force=force, host=host, probe=probe)

    def site_show(self) -> SiteInForce:
        """Return every setting of the active site profile with its source. Raises SiteError for a wrong profile."""
        from ..site.in_force import site_in_force

        with self._call():
            return site_in_force(self)

    def site_check(self, *files: str) -> CheckedJobs | CheckedProfile:
        """Return the resources that job files would get, or why they can never start; without files, check the profile.

        Nothing is submitted. Raises SiteError for a wrong profile, or if there is no profile and Slurm does not answer.
        """
        from ..site.check import check_site

        with self._call():
            return check_site(self, files)

    def monitor(self, job: JobRun | str | None = None) -> Worked:
        """Poll all jobs once: record how they end, and submit the retries that are due.

        With `job`, handle only that job, whose attempt has just ended.
        """
        from ..monitoring import Worked, monitor_job, run_monitor

        with self._call():
            if job is not None:
                return monitor_job(self, self._folder(job).name)
            return run_monitor(self, once=True) or Worked(worked=True)

    def slurm_calls(self) -> SlurmCalls:
        """Return the calls to Slurm for this user in the last 24 hours, by all commands and monitors."""
        from ..call_log import slurm_calls

        with self._call():
            return slurm_calls(self)

"""Use cases about the site, its nodes, and the calls to its Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .use_cases import UseCases

if TYPE_CHECKING:
    import os

    from ...site.profile import Site
    from ..monitor_run import SlurmCalls
    from ..nodes import NodeList
    from ..sites.ask import ProbeOptions
    from ..sites.checked import CheckedJobs, CheckedProfile
    from ..sites.detecting import DetectedSite, SiteInForce


class SiteUses(UseCases):
    """Detect, show and check the site."""

    def detect(
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
        from ..sites.detecting import detect_site

        return detect_site(self._session, output, force=force, host=host, probe=probe)

    def show(self, site: str | None = None) -> SiteInForce:
        """Return every setting of the active site profile with its source. Raises SiteError for a wrong profile."""
        from ..sites.detecting import site_in_force

        return site_in_force(self._session, site)

    def layers_text(self, site: str | None = None) -> str:
        """Return the profiles below the active one, as the end of a sentence; "" without any."""
        from ..sites.detecting import layers_text

        return layers_text(self._session, site)

    def check(self, *files: str, site: str | None = None) -> CheckedJobs | CheckedProfile:
        """Return the resources that job files would get, or why they can never start; without files, check the profile.

        Nothing is submitted. Raises SiteError for a wrong profile, or if there is no profile and Slurm does not answer.
        """
        from ..sites.checked import check_site

        return check_site(self._session, files, site)

    def find(self, site: str | None = None, *, host: str | None = None) -> Site:
        """Return the active site, of this machine or of a login node. Raises SiteError for a wrong profile."""
        from ..sites.find import find_site

        return find_site(self._session, site, host=host)

    def nodes(self) -> NodeList:
        """Return the user's bad nodes, the latest first."""
        from ..nodes import list_nodes

        return list_nodes(self._session)

    def add_node(self, node: str, *, reason: str = "") -> NodeList:
        """Add a bad node, and return all. Raises UsageError for an unknown name, and BackendError without Slurm."""
        from ..nodes import add_node

        return add_node(self._session, node, reason)

    def remove_node(self, node: str) -> NodeList:
        """Remove a bad node, and return the others. Raises UsageError if it is not among them."""
        from ..nodes import remove_node

        return remove_node(self._session, node)

    def slurm_calls(self, site: str | None = None) -> SlurmCalls:
        """Return the calls to Slurm for this user in the last 24 hours, by all commands and monitors."""
        from ..monitor_run import slurm_calls

        return slurm_calls(self._session, site)

"""Use cases about the site, its nodes, and the calls to its Slurm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import Diagnostic, UsageError
from ...times import Time, aware
from .use_cases import UseCases

if TYPE_CHECKING:
    import os

    from ...site.profile import Site
    from ..monitor_run import SlurmCalls
    from ..sites.ask import ProbeOptions
    from ..sites.checked import CheckedJobs, CheckedProfile
    from ..sites.detecting import DetectedSite, SiteInForce


class NodeLine(Struct, frozen=True, kw_only=True):
    """A bad node of the ledger."""

    node: str
    """The name of the node."""
    cluster: str
    """The backend of its jobs, with the site profile's `cluster`."""
    reason: str | None
    """Why the node is bad, in a sentence; None if its user has given no reason."""
    job: str | None
    """The full name of the job that met it; None if its user has added it."""
    attempt: int | None
    """The number of that job's attempt, from 0."""
    blamed_at: Time | None
    """When the node was added."""


class NodeList(Struct, frozen=True, kw_only=True):
    """The bad nodes of the ledger."""

    bad_nodes: tuple[NodeLine, ...]
    """The nodes, the latest first."""


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

        >>> found = session.sites.detect("detected.yaml")
        >>> found.outcome
        'wrote detected.yaml'
        """
        from ...site.detection.profile_text import profile_text
        from ..sites.ask import detect_at, detect_from_here
        from ..sites.detecting import DetectedSite, NotLearnt, Written, write_profile

        if probe is not None and host is not None:
            message = "--probe cannot be used with --host: run it on the login node, which shares files with the nodes"
            raise UsageError(Diagnostic(code="E547", message=message))
        found = detect_from_here(self._session, probe) if host is None else detect_at(self._session, host)
        text = profile_text(found)
        done = write_profile(Path(output), text, force=force) if output else Written(written=False)
        gaps = (NotLearnt(setting=gap.key, reason=gap.reason, ask=gap.command or None) for gap in found.gaps)
        return DetectedSite(
            file=None if output is None else str(output),
            text=text,
            written=done.written,
            difference=done.difference or None,
            kept_as=done.kept_as or None,
            not_learnt=tuple(gaps),
        )

    def show(self, site: str | None = None) -> SiteInForce:
        """Return every setting of the active site profile with its source. Raises SiteError for a wrong profile.

        >>> for setting in session.sites.show().in_force:
        ...     if setting.setting == "defaultPartition":
        ...         print(setting.value, setting.line)
        normal 8
        """
        from ..sites.detecting import site_in_force

        return site_in_force(self._session, site)

    def layers_text(self, site: str | None = None) -> str:
        """Return the profiles below the active one, as the end of a sentence; "" without any.

        >>> session.sites.layers_text("sites/laptop.yaml")
        ''
        """
        from ..sites.find import profile_layers

        extended = [layer.file for layer in reversed(profile_layers(self._session, site, alone=True)[:-1])]
        layers = reversed(profile_layers(self._session, site)[:-1])
        held = [layer.file for layer in layers if layer.file not in extended]
        adds = f"; it extends {', then '.join(extended)}" if extended else ""
        return adds + (f"; the locks of {' and '.join(held)} apply" if held else "")

    def check(self, *files: str, site: str | None = None) -> CheckedJobs | CheckedProfile:
        """Return the resources that job files would get, or why they can never start; without files, check the profile.

        Nothing is submitted. Without a profile, the site is detected from Slurm. Raises SiteError for a wrong profile,
        or if there is no profile and Slurm does not answer.

        >>> session.sites.check("hello-world.yaml").checked[0].verdict
        '1 node, 2 CPUs of normal'
        """
        from ..sites.checked import CheckedJobs, CheckedProfile, check_job, check_profile, site_to_check
        from ..sites.find import profile_layers, site_path

        session, path = self._session, site_path(self._session, site)
        if files or path is None:
            known = site_to_check(session, site)
            checked = tuple(check_job(session, file, known) for file in files)
            return CheckedJobs(file=None if path is None else str(path), checked=checked)
        diagnostics, reachable = check_profile(session, profile_layers(session, site, alone=True))
        return CheckedProfile(file=str(path), backend_reachable=reachable, diagnostics=diagnostics)

    def find(self, site: str | None = None, *, host: str | None = None) -> Site:
        """Return the active site, of this machine or of a login node. Raises SiteError for a wrong profile.

        >>> session.sites.find().default_partition
        'normal'
        """
        from ..sites.find import find_site

        return find_site(self._session, site, host=host)

    def nodes(self) -> NodeList:
        """Return the user's bad nodes, the latest first.

        >>> session.sites.nodes().bad_nodes
        ()
        """
        from ...state.bad_nodes import bad_nodes

        lines = (
            NodeLine(
                node=each.node,
                cluster=each.cluster,
                reason=each.reason or None,
                job=each.job or None,
                attempt=each.attempt if each.job else None,
                blamed_at=aware(each.happened_at),
            )
            for each in bad_nodes(self._session.store.home)
        )
        return NodeList(bad_nodes=tuple(lines))

    def add_node(self, node: str, *, reason: str = "") -> NodeList:
        """Add a bad node, and return all. Raises UsageError for an unknown name, and BackendError without Slurm.

        >>> bad = session.sites.add_node("node7", reason="its GPU falls off the bus").bad_nodes
        >>> [node.node for node in bad], [node.node for node in session.sites.remove_node("node7").bad_nodes]
        (['node7'], [])
        """
        from ...files.private import make_private
        from ...state.address import writing
        from ...state.bad_nodes import MAX_REASON, NODE_NAME, BadNode, add

        if not re.fullmatch(NODE_NAME, node):
            message = f"{node!r} is not the name of a node"
            raise UsageError(Diagnostic(code="E547", message=message, hint="add one node at a time"))
        session, site, home = self._session, self.find(), self._session.store.home
        backend = f"ssh:{site.host}" if site.host else "slurm"
        cluster = f"{backend}@{site.cluster}" if site.cluster else backend
        if node not in session.backend(backend).known_nodes([node], site.cluster or ""):
            hint = "list the nodes with `sinfo -N`"
            raise UsageError(Diagnostic(code="E547", message=f"{cluster} has no node {node!r}", hint=hint))
        with writing(home):
            make_private(home)
            add(home, [BadNode(happened_at=session.now(), cluster=cluster, node=node, reason=reason[:MAX_REASON])])
        return self.nodes()

    def remove_node(self, node: str) -> NodeList:
        """Remove a bad node, on all clusters, and return the others. Raises UsageError if it is not among them.

        >>> bad = session.sites.add_node("node8")
        >>> session.sites.remove_node("node8").bad_nodes
        ()
        """
        from ...state.address import writing
        from ...state.bad_nodes import BadNode, add, bad_nodes

        home, now = self._session.store.home, self._session.now()
        found = [each for each in bad_nodes(home) if each.node == node]
        if not found:
            hint = "`paislurm nodes` lists the bad nodes"
            raise UsageError(Diagnostic(code="E547", message=f"{node!r} is not among the bad nodes", hint=hint))
        with writing(home):
            add(home, [BadNode(happened_at=now, cluster=each.cluster, node=node, is_removed=True) for each in found])
        return self.nodes()

    def slurm_calls(self, site: str | None = None) -> SlurmCalls:
        """Return the calls to Slurm for this user in the last 24 hours, by all commands and monitors.

        >>> session.sites.slurm_calls().max_attempts_per_hour
        60
        """
        from ...monitor.polling.call_log import DAY, HOUR, MONITOR, costs, retry_times
        from ..monitor_run import ProgramCost, SlurmCalls

        now = self._session.clock()
        calls = self._session.call_log.calls(now - DAY)
        found = costs(calls)
        programs = (
            ProgramCost(program=each.program, calls=each.calls, failed=each.failed, cpu_seconds=round(each.cpu, 3))
            for each in found
            if each.program != MONITOR
        )
        return SlurmCalls(
            hours=DAY // HOUR,
            programs=tuple(programs),
            monitor_cpu_seconds=round(sum(each.cpu for each in found if each.program == MONITOR), 3),
            retries_in_last_hour=sum(when > now - HOUR for when in retry_times(calls)),
            max_attempts_per_hour=self.find(site).retry.max_attempts_per_hour,
        )

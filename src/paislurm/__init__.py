"""Compile OpenPAI job files to Slurm batch scripts, submit them and watch them.

    >>> import paislurm
    >>> run = paislurm.submit("job.yaml", parameters={"lr": 0.1})
    >>> run.wait().state, run.logs("worker-0")

    >>> there = paislurm.Session(home="/shared/me/jobs", site="/etc/paislurm/big.yaml")
    >>> print(there.compiler.compile("job.yaml").script)

`__all__` is the public API. Each name is imported on its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from paislurm.translator.app.monitor_run import SlurmCalls as SlurmCalls

    from .translator.app.use_cases.compiler_uses import Converted as Converted
    from .translator.app.submit.forecast import StartEstimate as StartEstimate
    from .translator.app.exit_meaning import ExitMeaning as ExitMeaning
    from .translator.app.jobs.removing import Removal as Removal
    from .translator.app.monitor_run import Worked as Worked
    from .translator.app.use_cases.site_uses import NodeLine as NodeLine
    from .translator.app.use_cases.site_uses import NodeList as NodeList
    from .translator.app.rehearsal.resuming import Rehearsals as Rehearsals
    from .translator.app.submit.recorded import Differences as Differences
    from .translator.app.use_cases.script_uses import Runtime as Runtime
    from .translator.app.session import Session as Session
    from .translator.app.sites.ask import ProbeOptions as ProbeOptions
    from .translator.app.sites.checked import CheckedJobs as CheckedJobs
    from .translator.app.sites.checked import CheckedProfile as CheckedProfile
    from .translator.app.sites.detecting import DetectedSite as DetectedSite
    from .translator.app.sites.detecting import SiteInForce as SiteInForce
    from .translator.app.tasks.port_forwarding import PortForward as PortForward
    from .translator.app.jobs.updating import UpdatedJob as UpdatedJob
    from .translator.app.use_cases.run import JobRun as JobRun
    from .translator.app.use_cases.run import cancel as cancel
    from .translator.app.use_cases.run import check as check
    from .translator.app.use_cases.run import compile as compile  # noqa: A004
    from .translator.app.use_cases.run import find as find
    from .translator.app.use_cases.run import jobs as jobs
    from .translator.app.use_cases.run import load as load
    from .translator.app.use_cases.run import logs as logs
    from .translator.app.use_cases.run import status as status
    from .translator.app.use_cases.run import submit as submit
    from .translator.app.use_cases.run import wait as wait
    from .translator.errors import BackendError as BackendError
    from .translator.errors import Diagnostic as Diagnostic
    from .translator.errors import FolderError as FolderError
    from .translator.errors import InterruptedWaitError as InterruptedWaitError
    from .translator.errors import NotFoundError as NotFoundError
    from .translator.errors import PaislurmError as PaislurmError
    from .translator.errors import PlanError as PlanError
    from .translator.errors import ProtocolError as ProtocolError
    from .translator.errors import RejectedError as RejectedError
    from .translator.errors import SiteError as SiteError
    from .translator.errors import UnreachableError as UnreachableError
    from .translator.errors import UsageError as UsageError
    from .translator.job import Job as Job
    from .translator.pipeline import Compiled as Compiled
    from .translator.pipeline import compile_job as compile_job
    from .translator.planning.placement.place import JobPlacement as JobPlacement
    from .translator.planning.job_plan import Plan as Plan
    from .translator.rendering.provenance import Origin as Origin
    from .translator.rendering.verification import Verified as Verified
    from .translator.site.load import load_site as load_site
    from .translator.site.profile import Site as Site
    from .translator.view.failure import JobFailure as JobFailure
    from .translator.view.jobs import JobView as JobView
    from .translator.view.line import JobLine as JobLine
    from .translator.view.parts import JobStall as JobStall
    from .translator.view.task import TaskView as TaskView
    from .translator.view.task import Usage as Usage

_MODULES = {
    "app.use_cases.compiler_uses": "Converted",
    "app.use_cases.script_uses": "Runtime",
    "app.submit.forecast": "StartEstimate",
    "app.exit_meaning": "ExitMeaning",
    "app.use_cases.site_uses": "NodeLine NodeList",
    "app.jobs.removing": "Removal",
    "app.monitor_run": "SlurmCalls Worked",
    "app.rehearsal.resuming": "Rehearsals",
    "app.submit.recorded": "Differences",
    "app.sites.ask": "ProbeOptions",
    "app.sites.checked": "CheckedJobs CheckedProfile",
    "app.sites.detecting": "DetectedSite SiteInForce",
    "app.session": "Session",
    "app.tasks.port_forwarding": "PortForward",
    "app.jobs.updating": "UpdatedJob",
    "app.use_cases.run": "JobRun cancel check compile find jobs load logs status submit wait",
    "errors": (
        "BackendError Diagnostic FolderError InterruptedWaitError NotFoundError PaislurmError PlanError ProtocolError "
        "RejectedError SiteError UnreachableError UsageError"
    ),
    "job": "Job",
    "pipeline": "Compiled compile_job",
    "planning.placement.place": "JobPlacement",
    "planning.job_plan": "Plan",
    "rendering.provenance": "Origin",
    "rendering.verification": "Verified",
    "site.load": "load_site",
    "site.profile": "Site",
    "view.failure": "JobFailure",
    "view.jobs": "JobView",
    "view.line": "JobLine",
    "view.parts": "JobStall",
    "view.task": "TaskView Usage",
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = ["__version__", *sorted(_WHERE)]  # noqa: PLE0604 - all of it is text


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".translator.{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Compile OpenPAI job files to Slurm batch scripts, submit them and watch them.

    >>> import paislurm
    >>> run = paislurm.submit("job.yaml", parameters={"lr": 0.1})
    >>> run.wait().state, run.logs("worker-0")

    >>> there = paislurm.Client(home="/shared/me/jobs", site="/etc/paislurm/big.yaml")
    >>> print(there.compile("job.yaml").script)

What is named in `__all__` is the public API; it is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .translator.app.client import Client as Client
    from .translator.app.default import cancel as cancel
    from .translator.app.default import check as check
    from .translator.app.default import compile as compile
    from .translator.app.default import find as find
    from .translator.app.default import jobs as jobs
    from .translator.app.default import load as load
    from .translator.app.default import logs as logs
    from .translator.app.default import status as status
    from .translator.app.default import submit as submit
    from .translator.app.default import wait as wait
    from .translator.app.job_run import JobRun as JobRun
    from .translator.app.jobs.listing import Line as JobLine
    from .translator.monitor.status import Status as Status
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
    from .translator.monitor.failure import Failure as Failure
    from .translator.monitor.task_status import TaskView as TaskView
    from .translator.pipeline import Compiled as Compiled
    from .translator.pipeline import compile_job as compile_job
    from .translator.planning.plan import Plan as Plan
    from .translator.site.load import load_site as load_site
    from .translator.site.profile import Site as Site

_WHERE = {
    "BackendError": "errors",
    "Client": "app.client",
    "Compiled": "pipeline",
    "Diagnostic": "errors",
    "Failure": "monitor.failure",
    "FolderError": "errors",
    "InterruptedWaitError": "errors",
    "Job": "job",
    "JobLine": "app.jobs.listing",
    "JobRun": "app.job_run",
    "NotFoundError": "errors",
    "PaislurmError": "errors",
    "Plan": "planning.plan",
    "PlanError": "errors",
    "ProtocolError": "errors",
    "RejectedError": "errors",
    "Site": "site.profile",
    "SiteError": "errors",
    "Status": "monitor.status",
    "TaskView": "monitor.task_status",
    "UnreachableError": "errors",
    "UsageError": "errors",
    "cancel": "app.default",
    "check": "app.default",
    "compile": "app.default",
    "compile_job": "pipeline",
    "find": "app.default",
    "jobs": "app.default",
    "load": "app.default",
    "load_site": "site.load",
    "logs": "app.default",
    "status": "app.default",
    "submit": "app.default",
    "wait": "app.default",
}
_OTHERWISE = {"JobLine": "Line"}
"""What has another name where it is."""

__all__ = [
    "BackendError",
    "Client",
    "Compiled",
    "Diagnostic",
    "Failure",
    "FolderError",
    "InterruptedWaitError",
    "Job",
    "JobLine",
    "JobRun",
    "NotFoundError",
    "PaislurmError",
    "Plan",
    "PlanError",
    "ProtocolError",
    "RejectedError",
    "Site",
    "SiteError",
    "Status",
    "TaskView",
    "UnreachableError",
    "UsageError",
    "__version__",
    "cancel",
    "check",
    "compile",
    "compile_job",
    "find",
    "jobs",
    "load",
    "load_site",
    "logs",
    "status",
    "submit",
    "wait",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".translator.{_WHERE[name]}", __name__), _OTHERWISE.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

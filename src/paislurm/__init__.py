"""Compile OpenPAI job files to Slurm batch scripts, submit them and watch them.

    >>> import paislurm
    >>> compiled = paislurm.compile_job(text, file="job.yaml", site=paislurm.load_site(profile, file="site.yaml"))
    >>> compiled.script

What is named in `__all__` is the public API; it is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .translator.errors import Diagnostic as Fault
    from .translator.errors import PaislurmError as PaislurmError
    from .translator.job import Job as Job
    from .translator.pipeline import Compiled as Compiled
    from .translator.pipeline import compile_job as compile_job
    from .translator.planning.plan import Plan as Plan
    from .translator.site.load import load_site as load_site
    from .translator.site.profile import Site as Site

_WHERE = {
    "Compiled": "pipeline",
    "Diagnostic": "errors",
    "Job": "job",
    "PaislurmError": "errors",
    "Plan": "planning.plan",
    "Site": "site.profile",
    "compile_job": "pipeline",
    "load_site": "site.load",
}

__all__ = [
    "Compiled",
    "Diagnostic",
    "Job",
    "PaislurmError",
    "Plan",
    "Site",
    "__version__",
    "compile_job",
    "load_site",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".translator.{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

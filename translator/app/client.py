"""A client: job folders in one home, for one site; several can be in one process."""

from __future__ import annotations

from .calls.compiler import CompilerCalls
from .calls.job import JobCalls
from .calls.site import SiteCalls
from .calls.submit import SubmitCalls
from .calls.task import TaskCalls


class Client(CompilerCalls, SubmitCalls, JobCalls, TaskCalls, SiteCalls):
    """Compile, submit and watch jobs. Nothing is printed, and no handler of a signal is set.

    The arguments are those of `Session`.

    All that goes wrong is a PaislurmError with `diagnostics`. Calls are made from one thread at a time.
    """

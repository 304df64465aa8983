"""A client: job folders in one home, for one site; a process can have several."""

from __future__ import annotations

from .calls.compiler import CompilerCalls
from .calls.job import JobCalls
from .calls.site import SiteCalls
from .calls.submit import SubmitCalls
from .calls.task import TaskCalls


class Client(CompilerCalls, SubmitCalls, JobCalls, TaskCalls, SiteCalls):
    """Compile, submit and watch jobs. A client prints nothing and sets no signal handler.

    The arguments are those of `Session`.

    Every error is a PaislurmError with `diagnostics`. Use a client in one thread at a time.
    """

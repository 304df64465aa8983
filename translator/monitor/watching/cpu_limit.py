"""How near a process is to the end of its CPU time (`ulimit -t`): a new process has all of it, exec makes none."""

from __future__ import annotations

import resource
import signal

PART = 0.75
"""Of the CPU time that is allowed: the rest is for a step with many jobs, which is not interrupted."""


def is_nearly_spent() -> bool:
    """Tell whether this process has used most of the CPU time that it may use."""
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    return soft != resource.RLIM_INFINITY and used() >= PART * soft


def used() -> float:
    """Return the CPU seconds of this process, without those of its children."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


def outlive_warning() -> None:
    """Go on after SIGXCPU, which comes at the soft limit and would end the process before the hard one does.

    It is not ignored: then programs that are started would ignore it, too.
    """
    signal.signal(signal.SIGXCPU, lambda _, __: None)

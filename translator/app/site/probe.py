"""Look at one node: a job of one task that reports what Slurm does not know, and leaves nothing."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.slurm import commands
from paislurm.backends.slurm.refusals import failure

from ...errors import BackendError
from ...shipped import shipped_text
from ...site.containers import PROGRAMS

if TYPE_CHECKING:
    from paislurm.backends.runner import CommandRunner

WAIT_SECONDS = 120
"""How long the job may wait for a node."""
RUN_SECONDS = 60
_SCRIPT = "templates/probe.sh"


class ProbeOptions(Struct, frozen=True, kw_only=True):
    """Say which node is looked at: one of a partition, by an account; "" for Slurm's defaults."""

    partition: str = ""
    account: str = ""
    sysfs: str = "/sys/class"


def look_at_node(runner: CommandRunner, options: ProbeOptions) -> tuple[str, str]:
    """Return what the node said, and why it said nothing; one of them is ""."""
    with ExitStack() as stack:
        marks = [_mark(stack, folder) for folder in (_home(), Path("/tmp"))]  # noqa: S108 - that very folder is asked about
        argv = commands.srun_probe(
            shipped_text(_SCRIPT),
            (options.sysfs, *marks, *PROGRAMS),
            wait=WAIT_SECONDS,
            partition=options.partition,
            account=options.account,
        )
        try:
            done = runner.run(argv, timeout=WAIT_SECONDS + RUN_SECONDS)
            if done.status:
                raise failure(argv, done)
        except BackendError as error:
            return "", error.diagnostics[0].message
    return done.stdout, ""


def _mark(stack: ExitStack, folder: Path) -> str:
    """Make a file that the node may see, which goes away by itself; "" where none can be made."""
    try:
        return stack.enter_context(tempfile.NamedTemporaryFile(dir=folder, prefix=".paislurm-probe-")).name
    except OSError:
        return ""


def _home() -> Path:
    """Return the folder of jobs, or the nearest one above it that there is."""
    home = Path(os.environ.get("PAISLURM_HOME") or "~/.paislurm").expanduser()
    return next(path for path in (home, *home.parents) if path.is_dir())

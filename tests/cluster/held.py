"""All clusters that the tests need, with the checkout's paislurm: booted once before the tests, up until these end."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.cluster import horovod, sharing
from tests.cluster.checkout import install_checkout
from tests.cluster.cluster import Cluster
from tests.cluster.instance import ClusterError, default_instance, unprivileged
from tests.cluster.kinds import KINDS, OWN, SLURMS
from tests.cluster.packages import install_debian_packages, missing_packages
from tests.cluster.versions import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "PAISLURM_NOT_BOOTED"
"""What tells tests which clusters did not boot before them: a reason by folder, as JSON."""
NOT_BOOTED: dict[str, str] = json.loads(os.environ.get(VARIABLE, "{}"))
"""Why clusters did not boot, by their folders: before the tests, and in this process. None is tried twice."""


def run(command: Sequence[str]) -> int:
    """Install what is missing, boot every cluster, run the command beside them, and take down what was booted.

    Return the command's status. Tests of a cluster that does not boot are skipped. With PAISLURM_REQUIRE_CLUSTER=1
    ClusterError is raised instead.
    """
    # In the background of a shell they are ignored, and daemons and their jobs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(SLURMS)) as pool:
        why = prepare()
        slurms = (OWN,) if unprivileged() else SLURMS
        results = [] if why else list(pool.map(lambda slurm: boot(slurm, stack), slurms))
        faults = {folder: reason for result in results for folder, reason in result.items()}
        for reason in dict.fromkeys([why] if why else faults.values()):
            print(f"cluster.py: {reason}", file=sys.stderr)
        if (why or faults) and os.environ.get("PAISLURM_REQUIRE_CLUSTER") == "1":
            raise ClusterError("the tests need all clusters")
        # The command gets a Ctrl-C of its own, and has the clusters until it ends.
        signal.signal(signal.SIGINT, lambda *_: None)
        environment = {**os.environ, VARIABLE: json.dumps(faults)}
        return subprocess.run(command, env=environment, check=False).returncode


def prepare() -> str:
    """Install packages, and begin to build Horovod; return why no cluster can boot on this machine, else ""."""
    with contextlib.suppress(ClusterError):
        install_debian_packages()
    if not (why := unfit()) and not unprivileged():
        horovod.start()
    return why


@functools.cache
def unfit() -> str:
    """Return why no cluster can boot on this machine, "" if nothing is known."""
    if sys.platform != "linux":
        return "three Slurms: needs Linux"
    if not unprivileged() and (missing := missing_packages()):
        return f"three Slurms: needs packages of Debian 12: {' '.join(missing)}"
    return ""


def boot(slurm: str, stack: contextlib.ExitStack) -> dict[str, str]:
    """Boot the clusters of a Slurm one after the other; return why one did not boot, by its folder."""
    clusters = [Cluster(default_instance(slurm, kind)) for kind in KINDS.values() if slurm in kind.slurms]
    faults = {}
    try:
        print(versions(slurm), file=sys.stderr)
    except ClusterError as error:
        return {str(default_instance(slurm, kind).folder): str(error) for kind in KINDS.values()}
    for cluster in clusters:
        keep = os.environ.get("PAISLURM_KEEP_CLUSTER") == "1"
        try:
            stack.enter_context(sharing.use(cluster.instance, cluster.up, cluster.down, keep=keep))
            install_checkout(cluster.instance)
        except ClusterError as error:
            faults[str(cluster.instance.folder)] = str(error)
    return faults

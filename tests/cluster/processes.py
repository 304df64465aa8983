"""Finding and ending processes, and only ours: by recorded identity or by the host they live in."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster import machine
from tests.cluster.instance import ClusterError, Instance, unprivileged

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

EVENT_TIMEOUT = 180.0
"""Seconds to wait for any single event; generous, since the machine may be loaded."""


def wait_until(happened: Callable[[], bool], what: str | Callable[[], str], timeout: float = EVENT_TIMEOUT) -> None:
    """Return as soon as `happened()`; raise ClusterError naming `what` after `timeout` seconds.

    What takes long to ask, since it starts programs, is asked less often: others need the processors meanwhile.
    """
    deadline = asked = time.monotonic()
    deadline += timeout
    while not happened():
        now = time.monotonic()
        if now > deadline:
            raise ClusterError(f"waited {timeout:.0f} s in vain: {what if isinstance(what, str) else what()}")
        time.sleep(min(1.0, max(0.03, 3 * (now - asked))))
        asked = time.monotonic()


def recorded_pid(pidfile: Path) -> int | None:
    """Return the process of a pid file if it is alive and still the one that wrote the file."""
    try:
        pid, started = pidfile.read_text().split()
        # The name in parentheses may hold spaces, so count from its end: state is field 3, start time 22.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    state, start_time = fields[0], fields[19]
    return int(pid) if state not in "ZX" and start_time == started else None


def end_recorded(pidfile: Path, with_signal: signal.Signals) -> None:
    """Send a signal to the process of a pid file, if it is still ours, and wait until it is gone."""
    pid = recorded_pid(pidfile)
    if pid is not None:
        kill(pid, with_signal)
        wait_until(lambda: recorded_pid(pidfile) is None, f"process {pid} ({pidfile.stem}) does not die")
    pidfile.unlink(missing_ok=True)


def kill_residents(instance: Instance, hosts: Collection[str] = (), spare: Collection[int | None] = ()) -> None:
    """Kill every process on the hosts, by default on all of them, whoever started it, but those to spare."""
    hosts = hosts or instance.hosts

    def none_left() -> bool:
        found = [pid for pid in residents(instance, hosts) if pid not in spare]
        for pid in found:
            kill(pid)
        return not found

    wait_until(none_left, f"processes of {instance.folder} do not die")


def residents(instance: Instance, hosts: Collection[str]) -> Iterator[int]:
    """Find processes in the mount or network namespaces of the hosts.

    A host's mount namespace is known by the name of its /run. A container may have left that namespace; its
    network is still the host's.
    """
    if unprivileged():
        yield from machine.residents(instance, () if set(hosts) == set(instance.hosts) else tuple(hosts))
        return
    markers = [f" paislurm-{instance.tag}-{host} " for host in hosts]
    marked: dict[str, bool] = {}
    networks: set[str] = set()
    others: list[tuple[int, str]] = []
    own_network = namespace(os.getpid(), "net")
    for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        mounts, network = namespace(pid, "mnt"), namespace(pid, "net")
        if mounts is None or network is None:
            continue
        if mounts not in marked:
            mount_table = read(Path(f"/proc/{pid}/mountinfo"))
            marked[mounts] = any(marker in mount_table for marker in markers)
        if marked[mounts]:
            yield pid
            networks.add(network)
        else:
            others.append((pid, network))
    networks.discard(own_network or "")
    yield from (pid for pid, network in others if network in networks)


def namespace(pid: int, kind: str) -> str | None:
    """Return the namespace's identity, or None for a process that is gone or a zombie."""
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return None


def kill(pid: int, with_signal: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, with_signal)


def read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

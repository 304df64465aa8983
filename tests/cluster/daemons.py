"""The daemons: what is started where, and when it can be said to be ready."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.cluster import unpacked
from tests.cluster.hosts import CLEAN, detached, enter, listening
from tests.cluster.instance import ADMINISTRATOR, LOGIN, TOOL, ClusterError, Instance, unprivileged
from tests.cluster.processes import end_recorded, read, recorded_pid, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

LAST = 8
"""Lines of a daemon's logs that an error shows."""


@dataclass(frozen=True)
class Daemon:
    """A process on a host that runs in the foreground under our care."""

    name: str
    host: str
    argv: tuple[str, ...]
    ready: Callable[[], bool]


def daemons(instance: Instance) -> dict[str, Daemon]:
    """Return all daemons by name, in the order in which they start."""
    socket = instance.run / "munge" / "munge.socket.2"
    database = instance.run / "mysqld" / "mysqld.sock"
    table = [
        Daemon("sshd", LOGIN, sshd(instance), lambda: listening(instance, LOGIN, 22)),
        Daemon("munged", LOGIN, munged(instance), socket.exists),
        Daemon("mariadbd", LOGIN, mariadbd(instance), database.exists),
        Daemon(
            "slurmdbd",
            LOGIN,
            ("env", f"MYSQL_UNIX_PORT={database}", "slurmdbd", "-D"),
            lambda: listening(instance, LOGIN, 6819),
        ),
        Daemon("slurmctld", LOGIN, ("slurmctld", "-D"), lambda: controller_answers(instance, LOGIN)),
    ]
    if unprivileged():
        table = table[1:]
    if not instance.kind.accounts:
        table = [daemon for daemon in table if daemon.name not in ("mariadbd", "slurmdbd")]
    if far := instance.kind.far:
        table.append(Daemon(f"slurmctld-{far}", far, ("slurmctld", "-D"), lambda: controller_answers(instance, far)))
    table += [slurmd(instance, node) for node in instance.nodes]
    return {daemon.name: daemon for daemon in table}


def sshd(instance: Instance) -> tuple[str, ...]:
    """Return the command of the login node's door; its log tells who came in, and how."""
    options = {
        "UsePAM": "no",
        "StrictModes": "no",
        "PidFile": "none",
        "LogLevel": "VERBOSE",
        "MaxStartups": "100",
        "Subsystem": "sftp internal-sftp",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    keys = (word for kind in ("ed25519", "ecdsa") for word in ("-h", f"{instance.folder}/ssh_host_{kind}_key"))
    return ("/usr/sbin/sshd", "-D", "-f", "/dev/null", "-E", f"{instance.log}/sshd.log", *keys, *words)


def munged(instance: Instance) -> tuple[str, ...]:
    # One munged serves all hosts through its socket. It runs as root from unusual places, hence --force.
    return (
        "munged", "--foreground", "--force",
        f"--socket={instance.run}/munge/munge.socket.2", f"--key-file={instance.etc}/munge.key",
        f"--pid-file={instance.run}/munge/munged.pid", f"--seed-file={instance.run}/munge/munged.seed",
        f"--log-file={instance.log}/munged.log",
    )  # fmt: skip


def mariadbd(instance: Instance) -> tuple[str, ...]:
    return (
        "mariadbd", "--no-defaults", f"--user={ADMINISTRATOR}", f"--datadir={instance.folder}/db", "--skip-networking",
        f"--socket={instance.run}/mysqld/mysqld.sock", f"--pid-file={instance.run}/mysqld/mysqld.pid",
        f"--log-error={instance.log}/mariadbd.log",
        # The data lives no longer than the cluster: spare the disk.
        "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-log-file-size=8M",
        "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
        # slurmdbd does not support it; it is on from MariaDB 11.6.2 on, and older ones do not know it.
        "--loose-innodb-snapshot-isolation=OFF",
    )  # fmt: skip


def slurmd(instance: Instance, node: str) -> Daemon:
    # The program for steps is at the path that was compiled in, unless it is named.
    steps = ("-d", str(unpacked.root(instance.suite) / "bin/slurmstepd")) if unprivileged() else ()
    return Daemon(f"slurmd-{node}", node, ("slurmd", "-D", "-N", node, *steps), lambda: listening(instance, node, 6818))


def controller_answers(instance: Instance, host: str) -> bool:
    """Ask it, once it listens: it does so some time before it takes requests."""
    if not listening(instance, host, 6817):
        return False
    ping = [*enter(instance, host), "scontrol", "ping"]
    return subprocess.run(ping, env=CLEAN, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def start(instance: Instance, name: str, wait: bool = True) -> None:
    """Start a daemon unless it runs."""
    daemon = find(instance, name)
    pidfile, output = instance.pidfile(name), instance.log / f"{name}.out"
    if recorded_pid(pidfile) is None:
        pidfile.unlink(missing_ok=True)
        # As text: a node has a /tmp of its own, and would not find the file of a checkout below /tmp.
        text = (TOOL / "daemon.sh").read_text(encoding="utf-8")
        script = ["bash", "-c", text, "daemon.sh", str(pidfile), *daemon.argv]
        detached([*enter(instance, daemon.host), *script], output)
    if wait:
        wait_ready(instance, name)


def wait_ready(instance: Instance, name: str) -> None:
    daemon, pidfile = find(instance, name), instance.pidfile(name)

    def ready() -> bool:
        if pidfile.exists() and recorded_pid(pidfile) is None:
            raise ClusterError(f"{name} ended{last_words(instance, name)}")
        return pidfile.exists() and daemon.ready()

    wait_until(ready, lambda: f"{name} does not get ready{last_words(instance, name)}")


def last_words(instance: Instance, name: str) -> str:
    """Return the last lines of a daemon's logs, and where these are."""
    files = [instance.log / f"{name}.{suffix}" for suffix in ("log", "out")]
    lines = [line for file in files for line in read(file).splitlines()[-LAST:]]
    return "\n".join([f", see {instance.log}:", *lines])


def stop(instance: Instance, name: str, crash: bool) -> None:
    """Shut a daemon down, or kill it without warning."""
    find(instance, name)
    end_recorded(instance.pidfile(name), signal.SIGKILL if crash else signal.SIGTERM)


def find(instance: Instance, name: str) -> Daemon:
    table = daemons(instance)
    if name not in table:
        raise ClusterError(f"no daemon {name!r}; there are {', '.join(table)}")
    return table[name]

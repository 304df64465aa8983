#!/usr/bin/python3
"""A real Slurm cluster on this machine, of eight nodes or as its kind has it: the class of tests, and the command line.

Run it by path: `tests/cluster/cluster.py --help`. Without root and namespaces its hosts are the machine itself.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.children import child
from tests.cluster import boot, daemons, hosts, machine
from tests.cluster.forked import can_fork, forker
from tests.cluster.instance import (
    GROUP_ID,
    LOGIN,
    PRESENT,
    USERS,
    ClusterError,
    default_instance,
    require_privilege,
    unprivileged,
)
from tests.cluster.processes import EVENT_TIMEOUT, kill_residents, recorded_pid, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.cluster.instance import Instance

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

SACCT_FIELDS = (
    "JobID,JobIDRaw,JobName,User,Account,QOS,Partition,State,ExitCode,DerivedExitCode,NodeList,NTasks,"
    "Submit,Start,End,ElapsedRaw,AllocTRES,ReqTRES,Comment,WorkDir"
)
SQUEUE_FIELDS = {
    "JobID": "%i", "JobIDRaw": "%A", "JobName": "%j", "User": "%u", "Partition": "%P", "State": "%T",
    "Reason": "%r", "NodeList": "%N", "Comment": "%k",
}  # fmt: skip


class Cluster:
    """The cluster of one instance folder, as its users, its administrator and its bad luck see it."""

    def __init__(self, instance: Instance | None = None) -> None:
        self.instance = instance or default_instance()
        self.hosts = self.instance.hosts
        self.nodes = self.instance.nodes

    @cached_property
    def slurm(self) -> str:
        """The version of Slurm, as it says."""
        return self.admin(["sbatch", "--version"]).split()[-1]

    def up(self) -> bool:
        """Boot the cluster unless it is well; return whether it had to be booted."""
        return boot.up(self.instance)

    def down(self) -> None:
        boot.down(self.instance)

    def home(self, user: str) -> Path:
        """Return a user's home folder, which has the same path on every host and outside."""
        return self.instance.home(user)

    def seen(self, path: Path) -> Path:
        """Return where this machine finds what a path is on the hosts."""
        return hosts.seen(self.instance, path)

    def address(self, host: str) -> str:
        """Return the host's IPv4 address, which can be reached from this machine too."""
        return self.instance.address(host)

    def command(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        host: str = LOGIN,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Return the command line that runs `argv` as the user on the host.

        It becomes `argv` by exec alone, so signals and exit status are the command's own. `env` is added to a
        clean login environment. `cwd` is the user's home by default.
        """
        variables = {**self.environment(user), **(env or {})}
        identity: list[str] = []
        if user not in (*PRESENT, "root"):
            require_privilege("another user")
        if user != "root" and not unprivileged():
            identity = ["setpriv", f"--reuid={user}", f"--regid={GROUP_ID}", "--init-groups"]
        settings = [f"{name}={value}" for name, value in variables.items()]
        folder = f"--chdir={cwd or variables['HOME']}"
        return [*hosts.enter(self.instance, host), *identity, "env", "-i", folder, *settings, *argv]

    def environment(self, user: str) -> dict[str, str]:
        """Return what a fresh login gives the user."""
        ours = machine.environment(self.instance) if unprivileged() else {"PATH": SYSTEM_PATH}
        path = ours.pop("PATH")
        if user in USERS and USERS[user].has_venv:
            path = f"{self.instance.venv}/bin:{path}"
        home = "/root" if user == "root" else str(self.home(user))
        name = USERS[user].name if user in USERS else user
        return {
            **ours,
            "HOME": home,
            "USER": name,
            "LOGNAME": name,
            "PATH": path,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
        }

    def run(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        host: str = LOGIN,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = EVENT_TIMEOUT,
        check: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a user on a host and wait for it; without `stdin` it reads nothing."""
        done = self.forked(argv, user, host, cwd, env or {}, stdin or "", timeout)
        if done is None:
            command = self.command(argv, user=user, host=host, cwd=cwd, env=env)
            done = subprocess.run(
                command, input=stdin or "", capture_output=True, text=True, timeout=timeout, check=False
            )
        if check and done.returncode != 0:
            what = f"{user}@{host}: {' '.join(argv)}"
            raise ClusterError(f"{what}: exit status {done.returncode}\n{done.stderr}".rstrip())
        return done

    def forked(
        self,
        argv: Sequence[str],
        user: str,
        host: str,
        cwd: Path | None,
        more: Mapping[str, str],
        stdin: str,
        timeout: float,
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command of the program without a start of Python, None if it must have one of its own."""
        variables = {**self.environment(user), **more}
        if not can_fork(argv, variables["PATH"], self.instance.venv / "bin" / "paislurm", more):
            return None
        command = self.command([f"{self.instance.venv}/bin/python"], user=user, host=host)
        words = [str(self.instance.venv / "bin" / "paislurm"), *argv[1:]]
        return forker(command).run(words, cwd=cwd or variables["HOME"], env=variables, stdin=stdin, timeout=timeout)

    @contextmanager
    def child(
        self,
        argv: Sequence[str],
        *,
        user: str = "alice",
        host: str = LOGIN,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a command as a user on a host beside the caller, with pipes for all three streams."""
        command = self.command(argv, user=user, host=host, cwd=cwd, env=env)
        pipe = subprocess.PIPE
        with child(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            yield process

    def cut(self, node: str) -> None:
        """Pull a node's network cable; Slurm says it is down some 27 s later, its processes go on."""
        hosts.unplug(self.instance, node)

    def restore(self, node: str) -> None:
        """Plug a node in again as after a reboot: nothing runs there, and it takes jobs when this returns."""
        self.stop_daemon(f"slurmd-{node}", crash=True)
        holder = recorded_pid(self.instance.pidfile(node))
        kill_residents(self.instance, [node], spare=[holder])
        hosts.plug(self.instance, node)
        self.start_daemon(f"slurmd-{node}")
        self.admin(["scontrol", "update", f"nodename={node}", "state=resume"], check=False)
        wait_until(lambda: self.node_states().get(node) in boot.SERVING, f"{node} does not come back")

    def revive(self, nodes: Sequence[str]) -> None:
        """Start the slurmds of these nodes that have died by themselves.

        That of 22.05 can, without a word in its log, when it launches two steps of a job at once on a busy machine.
        """
        for node in nodes:
            if recorded_pid(self.instance.pidfile(f"slurmd-{node}")) is None:
                self.start_daemon(f"slurmd-{node}")
                self.admin(["scontrol", "update", f"nodename={node}", "state=resume"], check=False)

    def stop_daemon(self, name: str, *, crash: bool = False) -> None:
        """Stop slurmctld, slurmdbd or a node's slurmd (`slurmd-n1`); a crash gives no chance to save state.

        A slurmctld that crashes forgets the jobs of its last 5 s and gives their ids to others; a node on
        which such a job still runs is drained then.
        """
        daemons.stop(self.instance, name, crash)

    def start_daemon(self, name: str) -> None:
        """Start the daemon again and wait until it answers."""
        daemons.start(self.instance, name)

    def lose_state(self, settings: str = "") -> None:
        """Let the controller lose all its records, as after a crash of its disk; it starts with these settings.

        The nodes end what it does not know, and jobs get the numbers of earlier ones.
        """
        state, conf = self.instance.folder / "state", self.instance.etc / "slurm" / "slurm.conf"
        before = conf.read_text()
        with boot.locked(self.instance):
            self.stop_daemon("slurmctld", crash=True)
            shutil.rmtree(state)
            state.mkdir()
            conf.write_text(before + settings)
            self.start_daemon("slurmctld")
            conf.write_text(before)

    def node_states(self) -> dict[str, str]:
        return boot.node_states(self.instance)

    def admin(self, argv: Sequence[str], check: bool = True) -> str:
        """Run a Slurm command as the administrator and return its output."""
        return self.run(argv, user="root", cwd=Path("/"), check=check).stdout

    def sacct(self, job_id: int | str) -> list[dict[str, str]]:
        """Return the accounting rows of a job, its components and its steps, keyed by sacct's field names."""
        return table(self.admin(["sacct", "--parsable2", f"--jobs={job_id}", f"--format={SACCT_FIELDS}"]))

    def squeue(self, job_id: int | str | None = None) -> list[dict[str, str]]:
        """Return the rows of the queue, of all jobs or of one, keyed like sacct's."""
        which = [] if job_id is None else [f"--jobs={job_id}"]
        columns = "|".join(SQUEUE_FIELDS.values())
        text = self.admin(["squeue", "--noheader", f"--format={columns}", *which], check=False)
        return table("|".join(SQUEUE_FIELDS) + "\n" + text)

    def cancel_all(self) -> None:
        """Cancel every job of every user."""
        for user in PRESENT.values():
            self.admin(["scancel", f"--user={user.name}"], check=False)

    def wait_idle(self, timeout: float = EVENT_TIMEOUT) -> None:
        """Wait until no job is left and all nodes are idle."""
        wait_until(
            lambda: not self.squeue() and set(self.node_states().values()) == {"idle"},
            "jobs are left or nodes are not idle",
            timeout,
        )


def table(text: str) -> list[dict[str, str]]:
    """Read lines with `|` between their fields, the first of which has the names."""
    header, *rows = (line.split("|") for line in text.splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


if __name__ == "__main__":
    from tests.cluster.commands import main

    sys.exit(main())

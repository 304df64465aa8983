"""Ends from outside, side by side: what a user is told of each, how long after Slurm knows, and what ran twice.

A series has 18 jobs on one cluster, a `paislurm wait` for each, and a monitor that polls as rarely as by default.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.children import child
from tests.cluster.boot import SERVING, locked
from tests.cluster.instance import ClusterError
from tests.cluster.jobs import role
from tests.cluster.kinds import KINDS, merged
from tests.cluster.processes import wait_until
from tests.contract.site import Job, Site
from tests.contract.test_launch import prologs

from .driver import say
from .noticed import Watch, first_end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster

NO_ACCOUNTS = "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n"
LUA = "job_submit.lua"
PROFILE = """\
partitions:
  normal: {nodes: [{count: 4, cpus: 16, memoryMB: 1000000}]}
  watched: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
  fragile: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}
  spot: {nodes: [{count: 1, cpus: 16, memoryMB: 1000000}]}
defaultPartition: normal
time: {grace: 5, killWait: 5}
"""
WAITS = "options: [--begin=now+1hour]"
LONGEST = 1200.0
"""Seconds in which each first attempt has ended: without accounts, one that never began counts as lost after 10 min."""


class Series(NamedTuple):
    """What a site has other than the usual one: settings of slurm.conf, flags of its Prolog, and accounts."""

    settings: str = ""
    flags: str = ""
    accounts: bool = True


SERIES = {
    "accounts": Series(),
    "renamed": Series("JobSubmitPlugins=lua\n", "Alloc"),
    "forgotten": Series("MinJobAge=2\n", accounts=False),
}


class Fault(NamedTuple):
    """How many jobs meet it, where they run or why they wait, the codes that are right, and those without accounts."""

    jobs: int
    extras: str
    codes: tuple[int, ...]
    without: tuple[int, ...]
    cpus: int = 1


FAULTS = {
    "prolog": Fault(4, "partition: normal", (-1403, -1402), (-1403, -1402, -120), 16),
    "root": Fault(3, "partition: fragile", (-210,), (-210, -101)),
    "root-waiting": Fault(3, WAITS, (-210,), (-210, -120)),
    "preempted": Fault(3, "partition: spot", (-1003,), (-1003, -101)),
    "lost": Fault(3, "partition: watched", (-101,), (-101,)),
    "lost-waiting": Fault(2, WAITS, (-120, -1402), (-120,)),
}


@contextmanager
def _changed(cluster: Cluster, series: Series) -> Iterator[Path]:
    """Let the site be as the series has it; yield the folder that makes its Prologs fail."""
    conf = cluster.instance.etc / "slurm" / "slurm.conf"
    before = conf.read_text()
    (conf.parent / LUA).write_text(KINDS["renames"].files[LUA])
    conf.write_text(merged(before, series.settings))
    _restart(cluster)
    try:
        with prologs(cluster, series.flags) as folder:
            yield folder
    finally:
        conf.write_text(before)
        _restart(cluster)


def _restart(cluster: Cluster, first: str = "") -> None:
    """Restart the controller; with a number, as after a crash of its disk: its jobs begin with that one."""
    conf, state = cluster.instance.etc / "slurm" / "slurm.conf", cluster.instance.folder / "state"
    before = conf.read_text()
    with locked(cluster.instance):
        cluster.stop_daemon("slurmctld", crash=bool(first))
        if first:
            shutil.rmtree(state)
            state.mkdir()
            conf.write_text(f"{before}FirstJobId={first}\n")
        cluster.start_daemon("slurmctld")
        conf.write_text(before)


class Play:
    """The jobs of a series, and what happens to them."""

    def __init__(self, cluster: Cluster, series: Series, prologs: Path) -> None:
        self.cluster = cluster
        self.series = series
        self.prologs = prologs
        self.site = Site("", cluster.home("alice"), PROFILE, cluster)
        self.folder = self.site.own(cluster.home("alice") / f"ends-{time.time():.0f}")
        self.env: dict[str, str] = {}
        if not series.accounts:
            self.site.write(self.folder, "sacct", NO_ACCOUNTS).chmod(0o755)
            self.env = {"PATH": f"{self.folder}:{self.site.environment()['PATH']}"}
        self.jobs: dict[str, Job] = {}
        self.watch = Watch(cluster, self.jobs, self.folder)
        self.waits = ExitStack()

    def submit(self, *kinds: str) -> list[Job]:
        """Submit the jobs that meet a fault, and wait for each; return them once those that can run do so."""
        for kind in kinds:
            fault = FAULTS[kind]
            for number in range(fault.jobs):
                name = f"{kind}-{number}"
                command = f'echo "$SLURM_JOB_ID" >>{self.folder}/ran-{name}-$FC_FRAMEWORK_ATTEMPT_ID; '
                command += '[ "$FC_FRAMEWORK_ATTEMPT_ID" = 0 ] || exit 0; echo up; sleep infinity & wait'
                roles = role("w", 1, command).replace("cpu: 1", f"cpu: {fault.cpus}")
                settings = f"retry: {{maxTransientRetries: {int(kind != 'prolog')}}}\n"
                extras = f"{{slurm: {{{fault.extras}}}}}"
                job = self.site.described(self.folder, name, roles, extras, settings)
                job.more = self.env
                done = job.paislurm("submit", "--json", f"{name}.yaml")
                assert done.returncode == 0, done.stderr
                self.jobs[name] = job
                argv = self.site.command(("paislurm", "wait", "--", name), cwd=self.folder, env=job.env)
                quiet = subprocess.DEVNULL
                self.waits.enter_context(child(argv, stdin=quiet, stdout=quiet, stderr=quiet))
        found = [job for name, job in self.jobs.items() if name.rpartition("-")[0] in kinds]
        for job in found:
            if "waiting" not in job.name and "prolog" not in job.name:
                job.wait_for("up", "0-w/0")
        return found

    def fail_prologs(self) -> None:
        """Let the Prologs of four nodes fail, and resume the nodes before anybody can have looked."""
        nodes, folder = self.cluster.nodes[:4], self.prologs
        for node in nodes:
            (folder / node).touch()
        self.submit("prolog")
        states = self.cluster.node_states
        wait_until(lambda: all("drained" in states()[node] for node in nodes), "the nodes to be drained")
        for node in nodes:
            (folder / node).unlink()
            self.cluster.admin(["scontrol", "update", f"nodename={node}", "state=resume"])
        say("the Prologs have failed, and their nodes are resumed")

    def play(self) -> None:
        self.watch.thread.start()
        self.fail_prologs()
        rooted = self.submit("root", "root-waiting")
        self.submit("preempted")
        time.sleep(10)  # A job that ends at its start is one that a node could not start.
        for job in rooted:
            self.cluster.admin(["scancel", job.number])
        urgent = ["sbatch", "--partition=urgent", "--mem=1000000", "--output=/dev/null", "--wrap=sleep 3"]
        self.cluster.run(urgent, check=True)
        say("root and urgent jobs have ended theirs")
        wait_until(lambda: len(self.watch.known) == len(self.jobs), "Slurm to know of the ends")
        lost = self.submit("lost", "lost-waiting")
        time.sleep(10)
        numbers = {int(job.number) for job in lost}
        _restart(self.cluster, str(min(numbers)))
        say("the controller has lost its jobs")
        wait_until(lambda: set(self.cluster.node_states().values()) <= {*SERVING}, "the nodes")
        other = ("sbatch", "--parsable", "--hold", "--job-name=other", "--output=/dev/null", "--wrap=true")
        while int(self.site.run(*other).stdout or 0) < max(numbers):
            pass
        wait_until(lambda: self.watch.recorded.keys() == self.jobs.keys(), self._missing, LONGEST)

    def _missing(self) -> str:
        return f"no end is recorded of {', '.join(self.jobs.keys() - self.watch.recorded.keys())}"

    def end(self) -> None:
        self.watch.over.set()
        self.watch.thread.join()
        self.waits.close()

    def report(self) -> int:
        """Print the end of each first attempt; return how many are wrong, or have copies."""
        wrong = 0
        for name, job in self.jobs.items():
            fault, end = FAULTS[name.rpartition("-")[0]], first_end(job)
            ran = [len({*path.read_text().split()}) for path in self.folder.glob(f"ran-{name}-*")]
            ids = [len(found) for (each, _), found in self.watch.numbers.items() if each == name]
            copies = sum(count - 1 for count in (*ran, *ids))
            blamed = end["blamed_nodes"]
            is_right = end["exit_code"] in (fault.codes if self.series.accounts else fault.without)
            is_right &= not blamed or (end["exit_code"], len(blamed)) == (-1403, 1)
            wrong += int(not is_right or copies > 0)
            late = self.watch.recorded.get(name, 0) - self.watch.known.get(name, 0)
            print(
                f"{'' if is_right else 'WRONG '}{name:16} {end['exit_code']!s:>6} {end['kind']:6}"
                f" {','.join(blamed) or '-':5} copies {copies} after {late:6.1f} s  {end['reason']}"
            )
        return wrong


def play_ends(cluster: Cluster, name: str) -> int:
    """Play a series; return the number of wrong ends and copies."""
    with _changed(cluster, SERIES[name]) as folder:
        play = Play(cluster, SERIES[name], folder)
        try:
            play.play()
        except ClusterError as error:
            say(str(error))
        finally:
            play.end()
        return play.report()

"""Record what a real Slurm says to the backend, for the unit tests: one file a case, in a folder a version.

    PAISLURM_CLUSTER_DIR=/var/tmp/recording .venv/bin/python tests/slurm_output/record.py [--slurm next] [CASE ...]

boots the test cluster in that folder, a new one, runs each case there as an ordinary user and writes
`<version>/<case>.txt`: every command with its exit status (>), standard output (|) and standard error (!).
Read the difference before it is committed.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cluster.cluster import Cluster
from tests.cluster.instance import default_instance
from tests.cluster.kinds import OWN, SLURMS
from tests.cluster.processes import wait_until
from tests.slurm_output import estimates
from tests.unit.backends.recording import Recording, transcript

from paislurm.backends.base import JobId, Observation, Submission
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands as slurm_commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.translator.app.sites.ask import Machine, ask
from paislurm.translator.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

USER = "alice"
HERE = Path(__file__).parent
PATIENCE = 120.0

PLAIN = "#SBATCH --nodes=1 --ntasks=1 --no-requeue\n"
HET = PLAIN + "#SBATCH hetjob\n" + PLAIN + "#SBATCH hetjob\n" + PLAIN


def is_final(seen: Observation) -> bool:
    return seen.final


class RecordingRunner:
    """Run commands on the cluster and keep what was said."""

    def __init__(self, cluster: Cluster, recording: list[Recording]) -> None:
        self._cluster = cluster
        self._recording = recording

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        base: Mapping[str, str] | None = None,  # noqa: ARG002 - nor that
        timeout: float,
    ) -> Completed:
        done = self._cluster.run(argv, user=USER, stdin=stdin, env=env, timeout=timeout)
        completed = Completed(status=done.returncode, stdout=done.stdout, stderr=done.stderr)
        self._recording.append(Recording(argv=tuple(argv), completed=completed))
        return completed


class Case:
    """A case that is being recorded: a backend on the cluster, and the recording so far."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.recording: list[Recording] = []
        self.runner = RecordingRunner(cluster, self.recording)
        self.backend = SlurmBackend(self.runner)

    def submit(self, directives: str, commands: str) -> JobId:
        """Submit a script in a folder of the case's own."""
        folder = self.cluster.home(USER) / "recording" / self.name
        self.cluster.run(["mkdir", "-p", str(folder)], user=USER, check=True)
        script = f"#!/usr/bin/env bash\n{directives}{commands}\n"
        self.cluster.run(["tee", str(folder / "job.sbatch")], user=USER, stdin=script, check=True)
        log = folder / "slurm.log"
        submission = Submission(
            script=folder / "job.sbatch", folder=folder, job="job", attempt=0, tag=f"tag-{self.name}", log=log
        )
        return self.backend.submit(submission).job_id

    def last_observation(self, job_id: JobId, done: Callable[[Observation], bool] = is_final) -> None:
        """Observe until the job's end is final, or until `done`, and keep the last observation alone."""

        def is_done() -> bool:
            kept = len(self.recording)
            seen = self.backend.observe([job_id]).get(job_id)
            if not seen or not done(seen):
                del self.recording[kept:]
            return bool(seen and done(seen))

        wait_until(is_done, f"{self.name}: {job_id} does not end", PATIENCE)

    def is_running(self, job_id: str) -> bool:
        rows = self.cluster.squeue(job_id)
        return bool(rows) and all(row["State"] == "RUNNING" for row in rows)

    def wait_running(self, job_id: JobId) -> None:
        wait_until(lambda: self.is_running(job_id), f"{self.name}: {job_id} does not start", PATIENCE)


def completed(case: Case) -> None:
    case.last_observation(case.submit(PLAIN, "true"))


def het_failed(case: Case) -> None:
    case.last_observation(case.submit(HET, "exit 3"))


def het_just_ended(case: Case) -> None:
    """Record the moment in which the accounts have the leader's end but not the components."""
    job_id = case.submit(HET, "exit 3")
    accounts = slurm_commands.sacct([job_id])

    def lags(_: Observation) -> bool:
        said = [r.completed.stdout for r in case.recording if r.argv == tuple(accounts)]
        return bool(said) and "|FAILED|" in said[-1]

    case.last_observation(job_id, lags)


def het_running(case: Case) -> None:
    job_id = case.submit(HET, "sleep 600")
    case.last_observation(job_id, lambda seen: seen.state == "RUNNING")
    case.cluster.cancel_all()


def pending(case: Case) -> None:
    wanted = "#SBATCH --nodes=4 --ntasks=4 --exclusive\n"
    first = case.submit(wanted, "sleep 600")
    case.wait_running(first)
    case.recording.clear()
    job_id = case.submit(wanted, "true")
    case.last_observation(job_id, lambda seen: seen.reason == "Resources")
    case.cluster.cancel_all()


def cancelled_by_user(case: Case) -> None:
    job_id = case.submit(HET, "sleep 600")
    case.wait_running(job_id)
    case.backend.cancel(job_id)
    case.last_observation(job_id)
    case.backend.cancel(job_id)


def cancelled_by_root(case: Case) -> None:
    job_id = case.submit(HET, "sleep 600")
    case.wait_running(job_id)
    case.cluster.admin(["scancel", job_id])
    case.last_observation(job_id)


def cancelled_while_pending(case: Case) -> None:
    job_id = case.submit(PLAIN + "#SBATCH --hold\n", "true")
    case.backend.cancel(job_id)
    case.last_observation(job_id)


def het_cancelled_while_pending(case: Case) -> None:
    job_id = case.submit(HET.replace("\n", " --hold\n"), "true")
    case.backend.cancel(job_id)
    case.last_observation(job_id)


def timeout(case: Case) -> None:
    case.last_observation(case.submit(HET.replace("\n", " --time=1\n", 1), "sleep 600"))


def out_of_memory(case: Case) -> None:
    hog = "x=$(head -c 300000000 /dev/zero | tr '\\0' x)"
    case.last_observation(case.submit(PLAIN.replace("\n", " --mem=100M\n"), f"{hog}; echo ${{#x}}"))


def node_failed(case: Case) -> None:
    job_id = case.submit(HET, "sleep 600")
    case.wait_running(job_id)
    node = case.cluster.squeue(job_id)[-1]["NodeList"]
    case.cluster.cut(node)
    try:
        case.last_observation(job_id)
    finally:
        case.cluster.restore(node)


def found_by_tag(case: Case) -> None:
    job_id = case.submit(HET, "sleep 600")
    case.recording.clear()
    assert case.backend.find([f"tag-{case.name}"]) == {f"tag-{case.name}": job_id}
    case.cluster.cancel_all()


def found_by_tag_in_accounts(case: Case) -> None:
    """Record a search for a tag that the controller has forgotten, as after MinJobAge."""
    case.last_observation(case.submit(HET, "true"))
    assert case.backend.find(["no-such-tag"]) == {}
    del case.recording[:-1]


def unknown_job(case: Case) -> None:
    case.backend.observe([JobId("9999999")])
    case.backend.cancel(JobId("9999999"))


def controller_away(case: Case) -> None:
    case.cluster.stop_daemon("slurmctld")
    try:
        refused(case, PLAIN)
        try_anyway(lambda: case.backend.observe([JobId("1")]))
        try_anyway(lambda: case.backend.cancel(JobId("1")))
    finally:
        case.cluster.start_daemon("slurmctld")


def database_away(case: Case) -> None:
    job_id = case.submit(PLAIN, "sleep 3")
    case.cluster.stop_daemon("slurmdbd")
    try:
        case.last_observation(job_id, lambda seen: seen.state == "COMPLETED")
    finally:
        case.cluster.start_daemon("slurmdbd")


def site_detect(case: Case) -> None:
    """Record all that `site detect` asks. Run on each Slurm: `--slurm 26.05 site_detect`."""
    ask(case.runner, case.runner, Machine(), USER)


def try_anyway(action: Callable[[], object]) -> None:
    try:
        action()
    except BackendError as error:
        print(f"  {type(error).__name__}: {error}")


def refused(case: Case, directives: str) -> None:
    try_anyway(lambda: case.submit(directives, "true"))


REFUSED = {
    "account": "--account=nosuch",
    "constraint": "--constraint=nosuch",
    "cpus": "--nodes=1 --ntasks=4 --ntasks-per-node=32",
    "gres": "--gres=nosuch:1",
    "gres_count": "--gres=gpu:9",
    "license": "--licenses=nosuch:1",
    "memory": "--mem=99999G",
    "nodelist": "--nodelist=n99",
    "nodes_word": "--nodes=many",
    "option": "--no-such-option=1",
    "partition": "--partition=nosuch",
    "qos": "--qos=nosuch",
    "reservation": "--reservation=nosuch",
    "time_word": "--time=soon",
}

CASES: dict[str, Callable[[Case], None]] = {
    function.__name__: function
    for function in (
        found_by_tag, found_by_tag_in_accounts, completed, het_failed, het_just_ended, het_running, pending,
        cancelled_by_user, cancelled_by_root, cancelled_while_pending, het_cancelled_while_pending, timeout,
        out_of_memory, node_failed, unknown_job, controller_away, database_away,
        site_detect,
    )
}  # fmt: skip
CASES |= {f"refused_{name}": partial(refused, directives=f"#SBATCH {option}\n") for name, option in REFUSED.items()}
CASES |= estimates.CASES


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--slurm", choices=SLURMS, default=OWN)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    cluster = Cluster(default_instance(arguments.slurm))
    cluster.up()
    version = cluster.admin(["sbatch", "--version"]).split()[1]
    folder = HERE / ".".join(version.split(".")[:2])
    folder.mkdir(exist_ok=True)
    for name in arguments.cases or CASES:
        print(name)
        case = Case(cluster, name)
        CASES[name](case)
        text = transcript(case.recording).replace(str(cluster.home(USER)), "/home/alice")
        text = text.replace(str(cluster.instance.folder), "/var/cluster")
        text = re.sub(r"(?<= OS=Linux )\S+", "6.1.0-18-amd64", text)
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Record the jobs of `cases.yaml` on the machine's own cluster, as root: all, or the cases that the arguments name.

What differs between machines and days is made the same here, once: paths, addresses, and times, of which the first
record of a journal gives the start. Then run `make golden` and read what is shown of them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import time
from fnmatch import fnmatch
from functools import cached_property
from typing import Any

import yaml

from tests.cluster.checkout import install_checkout
from tests.cluster.cluster import Cluster
from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.jobs import ROOT, profile
from tests.cluster.processes import wait_until

from .recording import CASES, HOME, JOBS, RECORDED, File, Recording

PATIENCE = 420
STARTS = 1_767_225_600
"""When each recording begins: 2026, in UTC."""
LETTERS = "|".join(f"%{letter}" for letter in "ijTVSeNkorlPaqy")
"""The columns of squeue that programs may ask for. Source: squeue(1), --format."""
COLUMNS = (
    "JobID,JobIDRaw,JobName,State,ExitCode,Submit,Start,End,NodeList,Comment,Reason,SubmitLine,ElapsedRaw,AllocTRES,"
    "NTasks,AveCPU,AveRSS,MaxRSS,TRESUsageInAve"
)
ACTIVE = {"PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING"}
ONE_ATTEMPT = "retry: {maxTransientRetries: 0}"
MONITOR = "monitor: {background: false, maxPollInterval: 2}\n"
LEFT_OUT = (
    "*/work/*", "*/commands/*", "*/env.sh", "*/peers.sh", "*/placement.sh", "*/job.head",
    "local/*/bin/*", "*/supervisor.log", "monitor/*", "runtime/*",
)  # fmt: skip
"""Files that only a running script reads, or that say nothing of a job."""


class Made:
    """A case that is being recorded, in a folder of alice's on the login node."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name, self.case = cluster, name, CASES[name]
        self.is_local = self.case["where"] == "local"
        self.folder = cluster.home("alice") / "frozen" / name
        self.home = self.folder / "home"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.home.mkdir(parents=True)
        site = profile(self.case.get("partition", "normal")) + MONITOR + self.case.get("site", ONE_ATTEMPT) + "\n"
        (self.home / "site.yaml").write_text(site)
        (self.folder / "job.yaml").write_text(job_file(name, self.case))
        for path in (self.folder.parent, self.folder, *self.folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
            os.chown(path, USERS["alice"].uid, GROUP_ID)

    def run(self, command: str) -> str:
        """Run a command of alice's in the folder."""
        path = f"{self.folder}/bin:{self.cluster.environment('alice')['PATH']}"
        times = {"TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}
        env = {"PAISLURM_HOME": str(self.home), "PAISLURM_SITE": str(self.home / "site.yaml"), "PATH": path} | times
        done = self.cluster.run(["bash", "-c", command], cwd=self.folder, env=env, timeout=PATIENCE)
        return done.stdout

    def submit(self) -> None:
        self.run(self.case.get("before", ""))
        # The local backend has a profile of its own, unless one is named.
        named = ["--site", str(self.home / "site.yaml")] * self.is_local
        words = ["--backend", self.case["where"], *named, *self.case.get("submit", ())]
        self.run(f"paislurm submit {shlex.join(words)} job.yaml")

    @property
    def ids(self) -> list[str]:
        text = "".join(path.read_text() for path in self.home.glob("jobs/*/journal.jsonl"))
        return sorted(set(re.findall(r'"kind": "submitted".*"job_id": "(\d+)"', text)), key=int)

    @cached_property
    def node(self) -> str:
        """The node on which the second task started, or the only one."""
        found = sorted(self.home.glob("jobs/*/attempts/0/tasks/*.log"), key=lambda log: "start 0 1 " in log.read_text())
        return found[-1].stem if found else ""

    def step(self, step: str) -> None:
        """Do a step of the case; see `cases.yaml`."""
        word, _, rest = step.format(name=self.name, id=self.ids[-1], node=self.node).partition(" ")
        waits = {"until": self.has_printed, "reason": self.waits_for, "over": self.is_over}
        if word in waits:
            wait_until(lambda: waits[word](rest), f"{self.name}: {step}", PATIENCE)
        elif word == "root":
            self.cluster.admin(shlex.split(rest))
        elif word == "cluster":
            method, *words = rest.split()
            getattr(self.cluster, method)(*words)
        else:
            self.run(step.format(name=self.name, id=self.ids[-1]))

    def has_printed(self, text: str) -> bool:
        return any(text in log.read_text() for log in self.home.glob("jobs/*/attempts/*/**/*.log"))

    def waits_for(self, reason: str) -> bool:
        return re.search(reason, self.run(f"squeue --noheader --format=%r --jobs={self.ids[-1]}")) is not None

    def is_over(self, _: str) -> bool:
        if self.is_local:
            return all('"ended"' in path.read_text() for path in self.home.glob("local/*/state.json"))
        queue, accounts = self.run(f"squeue --noheader --format=%T --jobs={self.ids[-1]}"), self.answers()["sacct"]
        return not ACTIVE & set(queue.split()) and f"\n{self.ids[-1]}" in accounts and "|Unknown|" not in accounts

    def answers(self) -> dict[str, str]:
        """Return what the programs of Slurm say now of the jobs of this case, in all columns."""
        if self.is_local:
            return {}
        found = self.run(f"squeue --noheader --states=all --me --format='{LETTERS}'").splitlines(keepends=True)
        mine = [line for line in found if re.split(r"[+|]", line)[0] in self.ids]
        sacct = f"sacct --duplicates --parsable2 --noconvert --jobs={','.join(self.ids)} --format={COLUMNS}"
        return {"sacct": self.run(sacct)} | ({"squeue": "".join([f"{LETTERS}\n", *mine])} if mine else {})

    def recording(self) -> Recording:
        """Return what there is now, with paths and times that are the same everywhere."""
        now, answers, files = int(time.time()), self.answers(), {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if path.is_file() and not any(fnmatch(name, each) for each in LEFT_OUT):
                text = shortened(path.name, path.read_bytes().decode(errors="surrogateescape"))
                files[name] = File(text, int(path.stat().st_mtime))
        journals = "".join(file.text for name, file in files.items() if name.endswith("journal.jsonl"))
        shift = STARTS - min(map(int, re.findall(r'"happened_at": (\d+)', journals)))
        place = "the local backend" if self.is_local else f"Slurm {self.cluster.slurm}"
        return Recording(
            f"{self.case['what']} ({place})",
            now + shift,
            {name: File(self.same(file.text, shift), file.time + shift) for name, file in files.items()},
            {program: self.same(text, shift) for program, text in answers.items()},
        )

    def same(self, text: str, shift: int) -> str:
        """Return a text as it would be on any machine and day; its times move by `shift` seconds."""
        instance = self.cluster.instance
        for own, same in (
            (self.home, HOME), (self.folder, "/home/alice/training"), (instance.home("alice"), "/home/alice"),
            (instance.venv, "/opt/paislurm"), (instance.folder, "/var/cluster"), (f"{instance.subnet}.", "10.0.0."),
        ):  # fmt: skip
            text = text.replace(str(own), same)
        text = re.sub(r"(?<![\d.])1[78]\d{8}(?!\d)", lambda found: str(int(found[0]) + shift), text)
        return re.sub(r"20\d\d-\d\d-\d\d([ T])\d\d:\d\d:\d\d", r"2026-01-01\g<1>00:00:00", text)


def shortened(name: str, text: str) -> str:
    """Return a file without what no view reads: of a script, what is below its options; spaces of documents."""
    if name == "job.sbatch":
        return text.partition("\nunset ")[0] + "\n"
    if name == "state.json":
        # The processes of a local job are another machine's than that of the replay.
        return json.dumps(json.loads(text) | {"host": "laptop", "boot": ""}) + "\n"
    return json.dumps(json.loads(text)) + "\n" if name == "plan.json" else text


def job_file(name: str, case: dict[str, Any]) -> str:
    """Return the job file of a case."""
    if "file" in case:
        return (ROOT / str(case["file"])).read_text()
    image = {"name": "plain", "type": "dockerimage", "uri": case.get("image", "debian")}
    roles = {
        role: {
            "instances": count,
            "completion": {"minFailedInstances": 1, "minSucceededInstances": -1},
            "dockerImage": "plain",
            "resourcePerInstance": {"cpu": 1, "memoryMB": 100, "gpu": 0},
            "commands": [command],
            **(more[0] if more else {}),
        }
        for role, (count, command, *more) in case.get("roles", {}).items()
    }
    document = {"protocolVersion": 2, "name": name, "type": "job", "prerequisites": [image], "taskRoles": roles}
    document |= case.get("job", {}) | ({"extras": case["extras"]} if "extras" in case else {})
    return str(yaml.safe_dump(case.get("v1", document), sort_keys=False, width=1000))


def main() -> None:
    cluster = Cluster()
    cluster.up()
    install_checkout(cluster.instance)
    for name in sys.argv[1:] or RECORDED:
        made = Made(cluster, name)
        try:
            made.submit()
            for step in made.case.get("steps", ()):
                made.step(step)
            (JOBS / f"{name}.txt").write_bytes(str(made.recording()).encode(errors="surrogateescape"))
        finally:
            for step in (*made.case.get("after", ()), "paislurm cancel '*'; scancel --me --name=wrap"):
                made.step(step)
        print(name, flush=True)


if __name__ == "__main__":
    main()

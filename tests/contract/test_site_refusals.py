"""What Slurm refuses though the profile does not: with what the site has instead; a full queue is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import ALICE
from tests.cluster.jobs import job_text, role
from tests.contract.limits import administer, limits
from tests.contract.site import Job

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

SAYS_NOTHING = "name: unknown\nmonitor: {background: false}\n"
ONE = role("a", 1, "true")
GPUS = ONE.replace("gpu: 0", "gpu: 3")
REFUSED = {
    "account": (ONE, "account: nope", "--account", ["your accounts are extra, research, tight"]),
    "qos": (ONE, "qos: nope", "--qos", ["your QOS are high, narrow, normal"]),
    "partition": (ONE, "partition: nope", "--partition", ["partitions are fragile (1-00:00:00), normal (1-00:00:00)"]),
    "reservation": (ONE, "reservation: nope", "--reservation", ["reservations are none"]),
    "constraint": (ONE, "constraint: nope", "--constraint", ["nodes have the features ib, v100"]),
    "time": (ONE, "account: tight, qos: narrow, time: 25", "--time",
             ["the account tight allows 00:30:00", "the QOS narrow allows 00:20:00"]),
    "gpus": (GPUS, "account: tight, qos: narrow, time: 5", "--gres", ["nodes have gpu:v100:4, hca:2, rtx:4"]),
}  # fmt: skip
"""Job by name: its role, its `extras.slurm`, the option that is refused, and what the hint tells of the site."""


def written(site: Site, folder: Path, text: str, slurm: str, name: str = "job", more: str = "") -> Job:
    site.write(folder, "site.yaml", SAYS_NOTHING + more)
    return Job(site, folder, site.write(folder, f"{name}.yaml", job_text(name, text, f"{{slurm: {{{slurm}}}}}")), name)


def jobs_of(site: Site, states: str = "pending,running") -> list[str]:
    """Return the numbers of jobs that the controller knows, those of the last minutes among `all`."""
    words = ["--noheader", "--me", "--account=tight", f"--states={states}", "--format=%A"]
    return site.run("squeue", *words).stdout.split()


@pytest.mark.exclusive
def test_refusal_lists_the_valid_values_of_the_site(site: Site, folder: Path) -> None:
    with limits(site.administrator):
        for name, (text, slurm, option, values) in REFUSED.items():
            job = written(site, folder, text, slurm, name)
            done = job.paislurm("submit", job.file.name)
            assert done.returncode == 4, (name, done.stderr)
            assert f"error E503: sbatch refuses {option}" in done.stderr
            assert f"$.extras.slurm.{name}\n" in done.stderr or name in ("time", "gpus")
            assert [value for value in values if value not in done.stderr] == [], done.stderr
            assert not [*(job.home / "jobs").iterdir()]


@pytest.mark.exclusive
def test_submit_waits_for_room_in_the_queue_and_submits_once(site: Site, folder: Path) -> None:
    cluster = site.administrator
    with limits(cluster):
        administer(cluster, f"sacctmgr modify user {ALICE} where account=tight set maxsubmitjobs=1")
        job = written(site, folder, ONE, "account: tight, time: 5", more="retry: {submitWait: 0}\n")
        first = site.run("sbatch", "--parsable", "--account=tight", "--hold", "--wrap=true", cwd=folder).stdout.strip()
        done = job.paislurm("submit", job.file.name)
        assert done.returncode == 4
        assert "error E508: sbatch refuses --account or --qos: AssocMaxSubmitJobLimit" in done.stderr
        assert not [*(job.home / "jobs").iterdir()]
        job = written(site, folder, ONE, "account: tight, time: 5")
        argv = ["paislurm", "submit", "--wait", job.file.name]
        with cluster.child(argv, cwd=folder, env=job.env) as waiting:
            assert waiting.stderr
            said = next(line for line in waiting.stderr if "not submitted yet" in line)
            assert f"{ALICE}~job is not submitted yet: sbatch refuses --account or --qos: AssocMaxSub" in said
            assert "next try in 5 s, for at most 600 s; Ctrl-C stops trying" in said
            assert jobs_of(site) == [first]
            site.run("scancel", first)
            _, rest = waiting.communicate(timeout=120)
        assert waiting.returncode == 0, rest
        assert len([number for number in jobs_of(site, "all") if int(number) > int(first)]) == 1

"""On which CPUs tasks may run: as many as they ask for, whatever the shell that submits has set for its own sruns."""

from __future__ import annotations

import json
import os
from itertools import product
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.cluster.jobs import folder_of_alice, job_text, role
from tests.cluster.kinds import KINDS
from tests.cluster.running import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.cluster import Cluster

CPUS = os.cpu_count() or 1
SITE = f"""\
partitions: {{normal: {{nodes: [{{count: 4, cpus: {CPUS}, memoryMB: 1000000}}]}}}}
defaultPartition: normal
"""
LOOK = 'grep Cpus_allowed_list /proc/self/status; nproc; echo "${SLURM_CPU_BIND-unset} ${SLURM_LABELIO-unset}"'
OF_THE_SHELL = (
    {},
    {"SLURM_CPU_BIND": "map_cpu:0,0", "SLURM_CPUS_PER_TASK": "1", "SRUN_CPUS_PER_TASK": "1", "SLURM_LABELIO": "1"},
    {"SLURM_CPU_BIND": "none", "SLURM_HINT": "compute_bound", "SLURM_THREADS_PER_CORE": "1", "SLURM_OVERCOMMIT": "1"},
)
"""What shells have set that submit: nothing, and what makes srun bind otherwise, and reports unreadable."""


@pytest.fixture(scope="module")
def bound() -> Iterator[Cluster]:
    """A cluster beside the usual one whose nodes have real CPUs, and bind tasks to them."""
    if CPUS < 2:
        pytest.skip("the machine has one CPU")
    with running(kind=KINDS["cpus"]) as cluster:
        yield cluster


def submit(
    bound: Cluster, folder: Path, text: str, site: str, *edits: tuple[str, str], env: dict[str, str] | None = None
) -> tuple[int, Path]:
    """Run a job by hand to its end; return the exit status and the attempt's folder. Edits change the script."""
    script = compile_job(text, file="job.yaml", site=load_site(site, file="site.yaml")).script
    for old, new in edits:
        script = script.replace(old, new)
    (folder_of_alice(folder) / "job.sbatch").write_text(script)
    done = bound.run(["sbatch", "--wait", "job.sbatch"], cwd=folder, env=env, timeout=60)
    (attempt,) = folder.glob("*-*/attempts/0")
    return done.returncode, attempt


def test_tasks_run_on_the_cpus_that_they_ask_for(bound: Cluster) -> None:
    """In both layouts; one test, since there is one such cluster."""
    for layout, (number, env) in product(("het", "shared"), enumerate(OF_THE_SHELL)):
        roles = role("wide", 1, LOOK).replace("cpu: 1", "cpu: 2") + role("narrow", 2, LOOK)
        text = job_text("affinity", roles, f"{{slurm: {{layout: {layout}}}}}")
        folder, unit = bound.home("alice") / f"{layout}-{number}", f"cpuUnit: {'core' if env else 'thread'}\n"
        code, attempt = submit(bound, folder, text, SITE + unit, env=env)
        assert code == 0, [file.read_text() for file in folder.glob("slurm-*.out")]
        logs = [attempt / f"logs/{task}.stdout.log" for task in ("0-wide/0", "1-narrow/0", "1-narrow/1")]
        found = {f"{log.parent.name}/{log.name[0]}": log.read_text().splitlines() for log in logs}
        widths = {task: (lines[1], lines[2]) for task, lines in found.items()}
        assert widths == {
            "0-wide/0": ("2", "unset unset"),
            "1-narrow/0": ("1", "unset unset"),
            "1-narrow/1": ("1", "unset unset"),
        }
        # Two tasks of one CPU each, on one node.
        assert found["1-narrow/0"][0] != found["1-narrow/1"][0]


THREADS = """\
partitions: {fragile: {nodes: [{count: 2, cpus: 16, memoryMB: 1000000}]}}
virtualClusters: {default: {partition: fragile}}
"""


def test_step_without_free_cpus_ends_the_job(bound: Cluster) -> None:
    """Where cores have two threads, the profile does not say so, and srun is not told to share them.

    Where the profile says so, all tasks are placed.
    """
    for layout, profile in product(("plain", "shared"), (THREADS, THREADS.replace("}]", ", threadsPerCore: 2}]"))):
        roles = role("w", 3, "true").replace("cpu: 1", "cpu: 3")
        if layout == "shared":
            roles = role("v", 2, "true").replace("cpu: 1", "cpu: 3") + role("u", 3, "true")
        text = job_text("threads", roles, "{slurm: {layout: shared}}" if layout == "shared" else "")
        folder = bound.home("alice") / f"{layout}-{'threads' in profile}"
        hurry = (("STEP_SECONDS=300", "STEP_SECONDS=3"), ("export SLURM_OVERCOMMIT=1", ":"))
        code, attempt = submit(bound, folder, text, profile, *hurry)
        result = json.loads((attempt / "result.json").read_text())
        found = (code, result["outcome"], result["exit_code"], result["behaviour"])
        if profile == THREADS:
            assert found == (1, "failed", 252, "permanent")
            assert "found no room for its step in 3 s" in result["reason"]
            assert "threadsPerCore" in result["reason"]
            # Of two roles the one whose step comes second.
            assert "STOPPED" in {task["state"] for task in result["tasks"]}
        else:
            assert found == (0, "succeeded", 0, "success")


def test_slurm_lists_the_cpus_of_all_tasks_of_a_node(bound: Cluster) -> None:
    """So a task knows its place among them, by which it takes its GPUs."""
    look = 'echo "$SLURM_LOCALID $SLURM_CPU_BIND_LIST"'
    words = ["srun", "--ntasks=2", "--nodes=1", "--cpus-per-task=1", "--mem=100", "bash", "-c", look]
    done = bound.run(words, timeout=60)
    found = dict(line.split(" ") for line in done.stdout.splitlines())
    assert (done.returncode, set(found)) == (0, {"0", "1"}), done.stderr
    first, second = found["0"].split(",")
    assert found["1"] == found["0"]
    assert int(first, 16) & int(second, 16) == 0


def test_a_strict_task_ends_if_it_shares_its_cpu(bound: Cluster) -> None:
    """With a CPU each, both run."""
    for masks in ("0x1,0x2", "0x1,0x1"):
        binding = f'{{slurm: {{binding: {{cpu: "mask_cpu:{masks}", onMismatch: error}}}}}}'
        text = job_text("strict", role("near", 2, "echo ran", failed=2, succeeded=2), binding)
        folder = bound.home("alice") / f"strict-{masks[-1]}"
        _, attempt = submit(bound, folder, text, SITE)
        result = json.loads((attempt / "result.json").read_text())
        logs = "".join(log.read_text() for log in sorted(attempt.glob("logs/*/*.log")))
        if masks == "0x1,0x2":
            assert (result["outcome"], logs) == ("succeeded", "ran\nran\n")
            continue
        assert (result["outcome"], result["exit_code"], result["behaviour"]) == ("failed", 252, "permanent")
        node = result["tasks"][0]["node"]
        shares = f"this task shares CPUs: the 2 tasks of its step on {node} need 2 CPUs and are bound to 1\n"
        assert logs == f"paislurm: error: {shares}" * 2
        log = "".join(file.read_text() for file in (*folder.glob("slurm-*.out"), *attempt.glob("slurm.log")))
        assert all(f"paislurm: error: task near-{index}: {shares}" in log for index in (0, 1))

"""What a job does and what its tasks see is the same in both layouts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import require_privilege
from tests.cluster.jobs import ADDRESS, ONE_ATTEMPT, folder_of_alice, paislurm, role, states, submit, submit_file, write
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from tests.cluster.cluster import Cluster

LAYOUTS = ("het", "shared")

LOOK = 'env -0 >env; { pwd; umask; set -o; ulimit -c -n -s -t -u -v; echo "$-"; readlink /proc/self/fd/0; } >shell'


def variables(text: str) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in text.split("\0") if entry)


def seen(attempt: Path, task: str, user: str = "alice") -> tuple[dict[str, str], str]:
    """Return what a task saw, without what differs from run to run: folder, nodes, addresses, ports, user."""
    folder = attempt / "work" / task
    found = variables((folder / "env").read_text())
    for name, value in list(found.items()):
        text = value.replace(str(attempt), "ATTEMPT").replace(user, "USER")
        text = re.sub(ADDRESS, "ADDRESS", text)
        text = re.sub(r"(?<![\w.])\d{5}(?![\w.])", "PORT", text)
        found[name] = re.sub(r"^\d+-0\.(?=\d-)", "RUN.", text)
        # Slurm's own differ by nature, and so does what names a node or a folder of paislurm.
        if name.startswith(("SLURM", "SRUN", "PAISLURM_")) or name in ("HOSTNAME", "TMPDIR"):
            del found[name]
    return found, (folder / "shell").read_text().replace(str(attempt), "ATTEMPT")


def test_task_environment_is_equal_in_both_layouts(installed: Cluster, workdir: Path) -> None:
    ports = "    resourcePerInstance: {cpu: 2, memoryMB: 200, gpu: 1, ports: {rpc: 2}}\n"
    worker = role("worker", 3, LOOK).replace("    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n", ports)
    jobs = {}
    for layout in LAYOUTS:
        folder = folder_of_alice(workdir / layout)
        write(folder, worker + role("ps", 1, LOOK), f"{{slurm: {{layout: {layout}}}}}")
        (folder / "job.yaml").write_text((folder / "job.yaml").read_text().replace(layout, "same", 1))
        jobs[layout] = submit_file(installed, folder, home=folder / "home")
    for job in jobs.values():
        code, result = job.ended()
        assert (code, set(states(result))) == (
            0,
            {f"{task} SUCCEEDED" for task in ("worker-0", "worker-1", "worker-2", "ps-0")},
        )
    for task in ("0-worker/0", "0-worker/1", "0-worker/2", "1-ps/0"):
        (het, het_shell), (shared, shared_shell) = seen(jobs["het"].attempt, task), seen(jobs["shared"].attempt, task)
        assert het == shared
        assert het_shell == shared_shell
    het = seen(jobs["het"].attempt, "0-worker/0")[0]
    assert het["PAI_TASK_ROLE_worker_HOST_LIST"] == "ADDRESS:PORT,ADDRESS:PORT,ADDRESS:PORT"
    assert het["PAI_CONTAINER_HOST_rpc_PORT_LIST"] == "PORT,PORT"
    assert len(het["CUDA_VISIBLE_DEVICES"]) == 1


def test_another_user_can_run_the_script_without_paislurm(installed: Cluster, workdir: Path) -> None:
    require_privilege("another user")
    roles = role("w", 2, f"{LOOK}; echo out; echo err >&2; sleep 1; exit 7", failed=2) + role("ps", 1, "sleep 60")
    job = submit(installed, workdir, roles, "{slurm: {layout: het}}")
    script = paislurm(installed, workdir, "script", "--site", "site.yaml", "job.yaml").stdout
    assert script == (job.attempt / "job.sbatch").read_text()

    home = installed.home("bob")
    target = home / f"{workdir.name}.sbatch"
    target.write_text(script)
    target.chmod(0o644)
    assert installed.run(["bash", "-c", "command -v paislurm"], user="bob").returncode != 0
    number = installed.run(["sbatch", "--parsable", str(target)], user="bob", check=True).stdout.strip()
    by_hand = home / f"{job.name}-{number}" / "attempts" / "0"

    def rows() -> set[str]:
        found = [row for row in installed.sacct(number) if "." not in row["JobID"]]
        return {f"{row['State']} {row['ExitCode']}" for row in found} if len(found) == len(LAYOUTS) else set()

    wait_until(lambda: rows() == {"FAILED 1:0"}, "the job by hand does not fail with status 1")
    assert f"the run folder is {by_hand.parents[1]}\n" in (home / f"slurm-{number}.out").read_text()
    wait_until((job.attempt / "claim/ended").exists, "the script to end")

    def only_here() -> set[str]:
        ours, theirs = ({name(path.relative_to(top)) for path in top.rglob("*")} for top in (job.attempt, by_hand))
        return ours - theirs - {"job.head"}

    def name(path: Path) -> str:
        """Return the name of a file of an attempt; the two jobs may run on different nodes."""
        return "tasks/<node>.log" if path.parent.name == "tasks" else str(path)

    # A monitor may tidy ours: what tasks have said goes, and the head stays of the script.
    wanted = {"claim", "claim/ended", "claim/owner", "slurm.log"}
    wait_until(
        lambda: only_here() == wanted,
        lambda: f"the attempts differ in {sorted(only_here() ^ wanted)}, not only in that",
    )
    code, result = job.ended()
    assert code == 1

    other = json.loads((by_hand / "result.json").read_text())
    assert [task["exit_status"] for task in other["tasks"]] == [7, 7, 143]
    for one in (result, other):
        for record in (one, *one["tasks"]):
            for differs in ("job_id", "node", "node_address", "ports_by_label"):
                record.pop(differs, None)
            for time in ("started_at", "ended_at", "ended_after_ms"):
                record.pop(time, None)
        one["trigger"]["index"] = one["reason"] = "either"
    assert other == result
    for task in ("0-w/0", "0-w/1"):
        (theirs, their_shell), (ours, our_shell) = seen(by_hand, task, "bob"), seen(job.attempt, task)
        # A digest of the user's and the job's name; and paislurm itself is on alice's PATH.
        assert theirs.pop("FC_FRAMEWORK_NAME") != ours.pop("FC_FRAMEWORK_NAME")
        ours["PATH"] = ours["PATH"].replace(f"{installed.instance.venv}/bin:", "")
        assert theirs == ours
        assert their_shell == our_shell
        assert (by_hand / "logs" / f"{task}.stdout.log").read_text() == "out\n"
        assert (by_hand / "logs" / f"{task}.stderr.log").read_text() == "err\n"
    own = {path for path in by_hand.rglob("*") if path.parent.parent.parent == by_hand / "work"}
    assert {path.name for path in own} == {"env", "shell"}, "what the commands write has the umask of the user"
    assert {path.stat().st_mode & 0o077 for path in {by_hand.parents[1], *by_hand.rglob("*")} - own} == {0}


@pytest.mark.exclusive
def test_slurm_packs_gpus_where_no_profile_describes_the_nodes(installed: Cluster, workdir: Path) -> None:
    """Twelve tasks of one GPU start on four nodes with four GPUs each; each task has a GPU of its own."""
    counts = {"a": 2, "b": 4, "c": 6}
    look = 'echo "$SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES"'
    roles = "".join(role(name, count, look) for name, count in counts.items())
    write(workdir, roles.replace("gpu: 0", "gpu: 1"))
    (workdir / "site.yaml").write_text(ONE_ATTEMPT)
    job = submit_file(installed, workdir)
    code, result = job.ended()
    assert (code, result["outcome"], len(result["tasks"])) == (0, "succeeded", 12)
    found = [job.log(f"{k}-{name}/{n}").strip() for k, name in enumerate(counts) for n in range(counts[name])]
    assert len(set(found)) == 12
    assert {len(gpus.partition(":")[2]) for gpus in found} == {1}

"""Commands that get into a task: ssh from another one, mpirun over it, `paislurm exec` from outside; and containers."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.boot import locked
from tests.cluster.image import make_image
from tests.cluster.instance import host_name
from tests.cluster.jobs import BOTH, ONE_ATTEMPT, ROOT, WHERE, role
from tests.terminal import Terminal

if TYPE_CHECKING:
    from tests.contract.site import Site

WAITS = "trap 'exit 0' TERM; echo ready; sleep 600 & wait"
PLUGIN = "{plugin: ssh, parameters: {jobssh: true, sshbarrier: true}}"
BARRIER = f"{{com.microsoft.pai.runtimeplugin: [{PLUGIN}], slurm: {{layout: LAYOUT}}}}"
MASTER = f"""\
for task in master-0 worker-0 worker-1; do ssh -q root@$task '{WHERE}'; done
        ssh worker-1 'exit 7' || echo "status $?"
        printf 'in to' | ssh worker-1 'cat; echo aside >&2'; echo
        {{ ssh worker-0 yes || true; }} 2>/dev/null | head -1
        for i in $(seq 20); do ssh -n worker-$((i % 2)) "echo $i \\$PAI_TASK_INDEX" >answer.$i & done
        wait
        cat answer.* | awk '{{ right += ($1 % 2 == $2) }} END {{ print right }}'
        ssh worker-7 true || echo "status $?"
        ssh worker-1 'cat ~/where 2>/dev/null || true'
"""
HOSTS = "master-0:2,worker-0:2,worker-1:2"
IN_IMAGE = {
    # As in the published Horovod jobs.
    "openmpi": f"mpirun.openmpi -np 6 -H {HOSTS} -bind-to none -map-by slot -mca pml ob1 {{}} 100000",
    # Debian's MPICH (4.0, with UCX 1.13) often never leaves MPI_Finalize, even by itself: it has done all before.
    "mpich": f"mpirun.mpich -np 6 -hosts {HOSTS} {{}} 100000 >ranks & "
    "until (($(grep -c ^rank ranks) == 6)) || ! kill -0 $!; do sleep 0.1; done; cat ranks",
}
"""What calls a program by the MPI of the image."""


def image_of(site: Site) -> Path:
    """The folder of a container image; a cluster that somebody has names its own in the site profile."""
    return make_image(site.administrator.instance)


def containers(site: Site, *mounts: Path) -> str:
    folders = ", ".join(str(mount) for mount in mounts)
    images = f"{{runtime: charliecloud, images: {{debian: {image_of(site)}}}, mounts: [{folders}]}}"
    return f"{ONE_ATTEMPT}containers: {images}\n"


@pytest.mark.parametrize("contained", [False, True], ids=["node", "charliecloud"])
@BOTH
def test_ssh_reaches_the_tasks(site: Site, folder: Path, layout: str, contained: bool) -> None:
    """What is called there sees the home of the task, which in a container nobody else has."""
    waits = f'echo "here $PAI_TASK_INDEX" >~/where; {WAITS}' if contained else WAITS
    roles = role("master", 1, MASTER.rstrip(), succeeded=1) + role("worker", 2, waits)
    roles = roles.replace("memoryMB: 100", "memoryMB: 2000")
    settings = containers(site) if contained else ONE_ATTEMPT
    job = site.submit(folder, roles, BARRIER.replace("LAYOUT", layout), settings)
    code, result = job.ended()
    out = job.log("0-master/0").splitlines()
    assert code == 0, (out, job.log("0-master/0", "stderr.log"))
    nodes = {f"{task['role']}-{task['index']}": task["node"] for task in result["tasks"]}
    for line, (name, node) in zip(out, nodes.items(), strict=False):
        assert line.split()[:2] == [node, name]
    assert out[3:] == ["status 7", "in to", "y", "20", "status 255", *["here 1"] * contained]
    known = "paislurm: ssh: worker-7 is no task of this job; its tasks are master-0 worker-0..1"
    assert (known if contained else "Could not resolve hostname worker-7") in job.log("0-master/0", "stderr.log")


@pytest.mark.parametrize(
    ("of_image", "layout"),
    [("", "het"), ("", "shared"), ("openmpi", "het"), ("openmpi", "shared"), ("mpich", "shared")],
    ids=["node-het", "node-shared", "openmpi-het", "openmpi-shared", "mpich-shared"],
)
def test_mpirun_starts_its_ranks_in_the_tasks(site: Site, folder: Path, of_image: str, layout: str) -> None:
    """In a container it finds no ssh but the task's, no sshd and no Slurm; containers of one node share little."""
    if of_image:
        program, cpus = program_of_image(site, of_image), 1
        command, settings = IN_IMAGE[of_image].format(program), containers(site, program.parent)
    else:
        mpirun, cpus = mpirun_over(site, HOSTS)
        command, settings = f"{mpirun} -np 6 {compiled(site)} 100000", ONE_ATTEMPT
    roles = role("master", 1, command, succeeded=1) + role("worker", 2, "sleep infinity")
    roles = roles.replace("memoryMB: 100", "memoryMB: 2000").replace("cpu: 1,", f"cpu: {cpus},")
    job = site.submit(folder, roles, BARRIER.replace("LAYOUT", f"{layout}, compat: {{background: stop}}"), settings)
    code, result = job.ended()
    out = job.log("0-master/0")
    assert (code, result["outcome"]) == (0, "succeeded"), out + job.log("0-master/0", "stderr.log")
    ranks = re.findall(r"^rank (\d) of 6 on (\S+): 21 ", out, re.MULTILINE)
    assert sorted(int(rank) for rank, _ in ranks) == list(range(6))
    if site.cluster:
        tasks = Counter(host_name(task["node"]) for task in result["tasks"])
        assert Counter(host for _, host in ranks) == {node: 2 * count for node, count in tasks.items()}


def mpirun_over(site: Site, hosts: str) -> tuple[str, int]:
    """Return mpirun with the options of the published Horovod jobs, and the CPUs that each task needs for it.

    docs/how-to/jobs/mpi.md says why Open MPI 6.0.0rc2 needs others.
    """
    if "Open MPI v6" not in site.run("ompi_info", "--version").stdout:
        return f"mpirun -H {hosts} -bind-to none -map-by slot -mca pml ob1", 1
    options = "--bind-to none --map-by slot --mca pml ob1 --mca btl_tcp_if_include eth0"
    return f"mpirun -H {hosts.replace('master-0', 'localhost')} {options}", 9


def compiled(site: Site, source: Path = ROOT / "tests/cluster/allreduce.c") -> Path:
    """Return an MPI program, compiled by the cluster's own compiler."""
    program = site.folder / source.stem
    if site.cluster is None:
        subprocess.run(["mpicc", "-o", str(program), str(source)], check=True)
        return program
    instance = site.cluster.instance
    with locked(instance):
        if not program.exists():
            done = site.run("mpicc", "-x", "c", "-o", str(program), "-", stdin=source.read_text())
            assert done.returncode == 0, done.stderr
    return program


def program_of_image(site: Site, implementation: str) -> Path:
    """Return the program, compiled with the MPI of the machine, which is the image's; the first process makes it."""
    program = site.folder / "of-image" / implementation
    with locked(site.administrator.instance):
        program.parent.mkdir(exist_ok=True)
        if not program.exists():
            source = ROOT / "tests/cluster/allreduce.c"
            subprocess.run([f"mpicc.{implementation}", "-o", str(program), str(source)], check=True)
        program.chmod(0o755)
    return program


@BOTH
def test_exec(site: Site, folder: Path, layout: str) -> None:
    """With streams and status, and with a terminal."""
    job = site.submit(folder, role("master", 1, WAITS) + role("worker", 2, WAITS), f"{{slurm: {{layout: {layout}}}}}")
    job.wait_for("ready", "0-master/0", "1-worker/1")
    done = job.paislurm("exec", job.name, "worker-1", "--", "sh", "-c", "cat; echo aside >&2; exit 7", stdin="in\n")
    assert (done.returncode, done.stdout, done.stderr) == (7, "in\n", "aside\n")
    done = job.paislurm("exec", job.name, "worker-1", "printf", "<%s>", "a  b", "'*'", "$HOME", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "<a  b><'*'><$HOME><>", "")
    (node,) = [task["node"] for task in job.status()["tasks"] if (task["role"], task["index"]) == ("worker", 1)]
    done = job.paislurm("exec", job.name, "worker-1", stdin=f"{WHERE}; kill -9 $$\n")
    assert (done.returncode, done.stdout) == (137, f"{node} worker-1 {job.attempt()}/work/1-worker/1\n")
    if site.cluster:
        argv = site.cluster.command(["paislurm", "exec", job.name, "worker-0"], cwd=job.folder, env=job.env)
        with closing(Terminal(argv, rows=33, columns=101)) as terminal:
            terminal.expect("[$#] $")
            terminal.type("echo role''$PAI_CURRENT_TASK_ROLE_NAME; tty; stty size\r")
            terminal.expect(r"roleworker\r\n/dev/pts/\d+\r\n33 101\r\n")
            terminal.type("exit 9\r")
            assert terminal.ended() == 9
    job.paislurm("cancel", job.name)
    assert job.over()[:2] == ("STOPPED", -210)


LOOK = (
    'id -un; umask; echo "$PAI_TASK_INDEX $PAI_TASK_CPU_NUM ${SLURM_JOB_ID-none} ${SSH_AUTH_SOCK-none}"; pwd; '
    "command -v srun sbatch scontrol || echo no Slurm; df -m --output=size /dev/shm | tail -1; "
    "touch ~/marker$PAI_TASK_INDEX /tmp/marker$PAI_TASK_INDEX; sleep 1; ls ~ /tmp; "
    "cat /mnt/data/file DATA/file; getent hosts t-1 | cut -d' ' -f1; echo $PAI_HOST_IP_t_1"
)


@BOTH
def test_a_task_in_a_container(site: Site, folder: Path, layout: str) -> None:
    """It sees its image, a storage, a mount and what is its own; Slurm's programs are not there."""
    data = site.own(folder / "data")
    site.write(data, "file", "of the storage\n")
    settings = f"{containers(site, data)}storages: {{data: {{path: {data}}}}}\n"
    roles = role("t", 2, LOOK.replace("DATA", str(data)), more="    extraContainerOptions: {shmMB: 64}\n")
    job = site.submit(folder, roles, f"{{storages: [{{name: data}}], slurm: {{layout: {layout}}}}}", settings)
    code, _ = job.ended()
    assert code == 0, job.log("0-t/0", "stderr.log")
    for index in (0, 1):
        assert job.log(f"0-t/{index}", "stderr.log") == ""
        who, mask, own, work, slurm, size, *rest = job.log(f"0-t/{index}").splitlines()
        assert (who, mask, own) == (site.user, "0022", f"{index} 1 none none")
        assert (work, slurm, size.strip()) == (f"{job.attempt()}/work/0-t/{index}", "no Slurm", "64")
        # Of what the two of them write, each finds its own alone.
        assert [line for line in rest if line.startswith("marker")] == [f"marker{index}"] * 2
        assert rest[-4:-2] == ["of the storage"] * 2
        assert rest[-2] == rest[-1]

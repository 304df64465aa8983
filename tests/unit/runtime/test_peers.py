"""What tasks inherit of the variables about each other, and what stands in a file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.environment import names_peers

from .bash import run

ROLE = """
PSL_ROLE_NAME[{0}]={1} PSL_ROLE_ALIASES[{0}]='{2}' PSL_ROLE_FOLDER[{0}]={0}-{1} PSL_INSTANCES[{0}]={3}
PSL_PORT_COUNTS[{0}]='{4}'
"""
FILL = """
PSL_GANG=1 PSL_ATTEMPT_FOLDER=$PWD PSL_ADDRESS_OF=([n1]=10.0.0.1 [n2]=10.0.0.2) PSL_ROLE=0
for role in "${!PSL_ROLE_NAME[@]}"; do
  nodes=()
  for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
    nodes+=("n$((index % 2 + 1))")
    for label in ${PSL_PORT_COUNTS[role]}; do
      PSL_PORTS_OF[$role.$index.${label%:*}]=$((20000 + index)),$((30000 + index))
    done
  done
  PSL_NODES_OF[role]="${nodes[*]}" PSL_TASK_COUNT=$((PSL_TASK_COUNT + PSL_INSTANCES[role]))
done
list_instances && : >env.sh && write_peers
"""
"""Tasks take turns on two nodes, and each label has two ports."""


def job(*roles: tuple[str, str, int, str], many: int = 1) -> str:
    """Return bash for roles: name, names in variables, instances, labels."""
    reported = (
        ROLE.format(position, name, aliases, count, " ".join(f"{label}:2" for label in labels.split()))
        for position, (name, aliases, count, labels) in enumerate(roles)
    )
    return "".join(reported) + f"PSL_MANY_TASKS={many}" + FILL


def read(file: Path) -> dict[str, str]:
    """Return the variables of a file with one in each line."""
    pairs = (line.partition("=") for line in file.read_text().splitlines())
    return {name: value.strip("'") for name, _, value in pairs}


def exported(folder: Path) -> dict[str, str]:
    """Return the variables that a child of the task's bash has."""
    code = "source ./env.sh; exec env"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in pairs if name.startswith("PAI_")}


def test_a_small_job_exports_all_task_variables(tmp_path: Path) -> None:
    roles = (("ps", "ps", 2, "http ssh"), ("worker", "worker Worker", 3, "http ssh my.label"))
    run(f"cd {tmp_path}" + job(*roles, many=0))
    found = exported(tmp_path)
    assert found == read(tmp_path / "peers.sh")
    expected = {
        "PAI_HOST_IP_worker_1": "10.0.0.2",
        "PAI_PORT_LIST_Worker_2_http": "20002,30002",
        "PAI_Worker_2_http_PORT": "20002,30002",
        "PAI_TASK_ROLE_0_HOST_LIST": "10.0.0.1:20000,10.0.0.2:20001",
        "PAI_TASK_ROLE_ps_HOST_LIST": "10.0.0.1:20000,10.0.0.2:20001",
        "PAI_TASK_ROLE_INSTANCES": "ps:0,ps:1,Worker:0,Worker:1,Worker:2",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert not [name for name in found if "label" in name]


@pytest.mark.parametrize(
    ("many", "stack", "exports"), [(0, 8192, True), (0, "unlimited", True), (1, 8192, False), (0, 512, False)]
)
def test_variables_about_all_tasks_are_exported_whole_or_not_at_all(
    tmp_path: Path, many: int, stack: int | str, *, exports: bool
) -> None:
    """With a small stack there is no room for them beside the environment of the script."""
    roles = job(("ps", "ps", 2, "http ssh"), ("worker", "worker", 150, "http ssh"), many=many)
    code = f"cd {tmp_path}; exec 2>said; ulimit -S -s {stack}{roles}"
    run(code, env={f"MINE_{number}": "x" * 1000 for number in range(90)})
    found, everything = exported(tmp_path), read(tmp_path / "peers.sh")
    assert found == (everything if exports else {})
    assert everything["PAI_worker_149_ssh_PORT"] == "20149,30149"
    assert len(everything["PAI_TASK_ROLE_worker_HOST_LIST"].split(",")) == 150
    assert everything["PAI_TASK_ROLE_INSTANCES"].endswith(",worker:149")
    lacks_room = not many and not exports
    assert ("has no room for them (ulimit -s)" in (tmp_path / "said").read_text()) is lacks_room
    # The commands of all roles then set them without exporting them.
    settings = [line for line in (tmp_path / "env.sh").read_text().splitlines() if line.startswith("PSL_")]
    assert settings == (["PSL_NAMES_PEERS[0]=1", "PSL_NAMES_PEERS[1]=1"] if lacks_room else [])


KNOWN = """
PSL_ATTEMPT_FOLDER=$PWD PAI_TASK_ROLE_INSTANCES=w:0,w:1 PSL_EXPORTS_PEERS={} PSL_NAMES_PEERS=({})
export_known_peers; declare -p PSL_EXPORTS_PEERS >/dev/null; {}
"""


@pytest.mark.parametrize("exports", [True, False])
def test_without_gang_allocation_a_job_exports_all_known_tasks_or_none(tmp_path: Path, *, exports: bool) -> None:
    """Commands that name them set those that they do not inherit."""
    begun = 300
    lines = [f"peer 0 {index} 0 10.0.0.{index % 4} 3 http:{20000 + index},2 ssh:7" for index in range(begun)]
    again = "peer 0 2 1 10.0.0.9 3 http:29999 ssh:7"
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/n1.log").write_text("\n".join(["start 0 0", *lines[::2], again, "exit 0 0", ""]))
    (tmp_path / "tasks/n2.log").write_text("\n".join([*lines[1::2], ""]))
    roles = ROLE.format(0, "w", "w", 10_000, "http:1 ssh:1")
    texts = {}
    for names, show in (("", "env"), ("1", 'env; printf "%s" "$PSL_KNOWN_PEERS"')):
        printed = run(f"cd {tmp_path}; PSL_ROLE=0{roles}{KNOWN.format(int(exports), names, show)}")
        texts[names] = dict(line.split("=", 1) for line in printed.splitlines() if line.startswith("PAI_"))
    assert bool(texts[""]) is exports
    found = texts["1"]
    assert [found.get(f"PAI_{name}") for name in ("HOST_IP_w_2", "w_299_http_PORT", "HOST_IP_w_300")] == [
        "10.0.0.9",
        "20299,2",
        None,
    ]
    hosts = found["PAI_TASK_ROLE_0_HOST_LIST"].split(",")
    assert (len(hosts), hosts[:4]) == (300, ["10.0.0.0:20000", "10.0.0.1:20001", "10.0.0.9:29999", "10.0.0.3:20003"])


OWN = """
PSL_FIRST_PORT=15000 SLURMD_NODENAME=n2 PSL_ROLE_GPUS=(0 0) PSL_RUN_ID=1-0 PSL_NODE_FOLDER=$PWD PSL_SLOT=0
environment_of_role_1() {{ :; }}
for gang in 1 0; do
  (PSL_GANG=$gang; export_task_environment 1 {index} 3; env | grep -E '^PAI_(HOST_IP|PORT_LIST|.*[0-9]_.*_PORT)' | sort)
done
"""


@pytest.mark.parametrize("count", [50, 5000])
def test_a_task_has_all_variables_about_itself(tmp_path: Path, count: int) -> None:
    """In a job of any size, with gang allocation and without, in any attempt."""
    index = count - 1
    labels = "http ssh a b"
    roles = job(("ps", "ps", 2, "http ssh"), ("my_worker", "my_worker myworker", count, labels + " my.label"))
    found = run(f"cd {tmp_path}{roles}{OWN.format(index=index)}", env={"PAI_TASK_CPU_NUM": "1"}).splitlines()
    own = [line for line in (tmp_path / "peers.sh").read_text().splitlines() if f"worker_{index}" in line]
    assert len(own) == 2 * (1 + 2 * len(labels.split()))
    assert found == 2 * sorted(own)


def test_peer_main_prints_one_task(tmp_path: Path) -> None:
    (tmp_path / "attempts/0").mkdir(parents=True)
    (tmp_path / "attempts/0/placement.sh").touch()
    roles = job(("w", "w", 1, "http ssh"), ("my_worker", "my_worker myworker", 12, "http ssh"))
    code = f"cd {tmp_path}/attempts/0{roles}".rstrip()
    reported = run(f"{code}; peer_main {tmp_path} 0 my_worker 1").splitlines()
    assert reported == [
        "PAI_HOST_IP_my_worker_1=10.0.0.2", "PAI_PORT_LIST_my_worker_1_http=20001,30001",
        "PAI_my_worker_1_http_PORT=20001,30001", "PAI_PORT_LIST_my_worker_1_ssh=20001,30001",
        "PAI_my_worker_1_ssh_PORT=20001,30001",
    ]  # fmt: skip
    for words in ("my_worker 12", "my_worker x", "nobody 0", "w", ""):
        refused = run(f"{code}; (peer_main {tmp_path} 0 {words} 2>&1); echo $?").splitlines()
        assert refused[0].endswith("is no task of this job (usage: paislurm-peer ROLE INDEX)")
        assert refused[1:] == ["255"]


OF_OTHERS = ("PAI_HOST_IP_ps_0", "PAI_PORT_LIST_ps_1_http", "PAI_ps_0_http_PORT", "PAI_TASK_ROLE_ps_HOST_LIST")
ITS_OWN = ("PAI_CONTAINER_HOST_PORT", "PAI_CURRENT_CONTAINER_PORT", "PAI_CONTAINER_SSH_PORT", "PAI_TASK_INDEX")


@pytest.mark.parametrize("name", [*OF_OTHERS, *ITS_OWN])
def test_commands_that_name_other_tasks_are_recognized(name: str) -> None:
    assert names_peers(f'echo "${{{name}}}"') is (name in OF_OTHERS)


@pytest.mark.parametrize(
    ("instances", "command", "reported"),
    [(2000, "$PAI_HOST_IP_w_99", True), (2000, "$HOME", False), (200, "$PAI_HOST_IP_w_1", False)],
)
def test_the_head_marks_roles_with_commands_that_name_other_tasks(
    instances: int, command: str, *, reported: bool
) -> None:
    text = f"""
protocolVersion: 2
name: many
type: job
prerequisites: [{{name: image, type: dockerimage, uri: debian}}]
taskRoles:
  w:
    instances: {instances}
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    commands: ['echo {command}']
"""
    script = compile_job(text).script
    assert ("\nPSL_NAMES_PEERS[0]=1" in script) is reported

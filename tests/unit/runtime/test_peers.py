"""What tasks inherit of the variables about each other, and what stands in a file."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.environment import MAX_LIST_BYTES, MAX_PEER_VARIABLES, names_peers

from .bash import run

if TYPE_CHECKING:
    from pathlib import Path

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
print_instances >env.sh && write_peers
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
    assert found["PAI_HOST_IP_worker_1"] == "10.0.0.2"
    assert found["PAI_PORT_LIST_Worker_2_http"] == found["PAI_Worker_2_http_PORT"] == "20002,30002"
    assert found["PAI_TASK_ROLE_0_HOST_LIST"] == found["PAI_TASK_ROLE_ps_HOST_LIST"] == "10.0.0.1:20000,10.0.0.2:20001"
    assert found["PAI_TASK_ROLE_INSTANCES"] == "ps:0,ps:1,Worker:0,Worker:1,Worker:2"
    assert not [name for name in found if "label" in name]


@pytest.mark.parametrize(("workers", "lists"), [(512, True), (5000, False)])
def test_a_large_job_exports_the_first_tasks_of_each_role(tmp_path: Path, workers: int, *, lists: bool) -> None:
    run(f"cd {tmp_path}" + job(("ps", "ps", 2, "http ssh"), ("worker", "worker", workers, "http ssh")))
    found, everything = exported(tmp_path), read(tmp_path / "peers.sh")
    of_tasks = [name for name in found if "_TASK_ROLE_" not in name]
    assert 5 < len(of_tasks) <= MAX_PEER_VARIABLES
    assert found["PAI_HOST_IP_ps_1"] == "10.0.0.2"
    assert found["PAI_HOST_IP_worker_31"] == "10.0.0.2"
    assert "PAI_HOST_IP_worker_32" not in found
    assert everything[f"PAI_worker_{workers - 1}_ssh_PORT"] == f"{20000 + workers - 1},{30000 + workers - 1}"
    assert len(everything["PAI_TASK_ROLE_worker_HOST_LIST"].split(",")) == workers
    assert everything["PAI_TASK_ROLE_INSTANCES"].endswith(f",worker:{workers - 1}")
    assert ("PAI_TASK_ROLE_worker_HOST_LIST" in found) is lists
    assert "PAI_TASK_ROLE_ps_HOST_LIST" in found
    assert sum(map(len, (*found, *found.values()))) < 2 * MAX_LIST_BYTES + 64 * MAX_PEER_VARIABLES


def test_a_job_of_many_roles_exports_few_variables(tmp_path: Path) -> None:
    run(f"cd {tmp_path}" + job(*((f"r{number}", f"r{number}", 1, "http ssh") for number in range(200))))
    found = exported(tmp_path)
    assert len(found) < 520
    assert "PAI_HOST_IP_r63_0" in found
    assert "PAI_HOST_IP_r64_0" not in found
    assert "PAI_HOST_IP_r199_0" in read(tmp_path / "peers.sh")


def test_a_task_with_many_labels_exports_none_of_them(tmp_path: Path) -> None:
    """It has more variables than are exported of all tasks: those of the other role's task are."""
    labels = " ".join(f"label{number}" for number in range(200))
    run(f"cd {tmp_path}" + job(("many", "many", 1, f"http ssh {labels}"), ("few", "few", 1, "http ssh")))
    found = exported(tmp_path)
    assert "PAI_HOST_IP_many_0" not in found
    assert found["PAI_HOST_IP_few_0"] == "10.0.0.1"
    assert "PAI_many_0_label199_PORT" in read(tmp_path / "peers.sh")


@pytest.mark.parametrize(("begun", "lists"), [(300, True), (9000, False)])
def test_without_gang_allocation_a_job_exports_as_little(tmp_path: Path, begun: int, *, lists: bool) -> None:
    """A list of 9,000 hosts would be longer than a variable can be that a program is started with."""
    lines = [f"peer 0 {index} 0 10.0.0.{index % 4} 3 http:{20000 + index},2 ssh:7" for index in range(begun)]
    again = "peer 0 2 1 10.0.0.9 3 http:29999 ssh:7"
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/n1.log").write_text("\n".join(["start 0 0", *lines[::2], again, "exit 0 0", ""]))
    (tmp_path / "tasks/n2.log").write_text("\n".join([*lines[1::2], ""]))
    roles = ROLE.format(0, "w", "w", 10_000, "http:1 ssh:1")
    code = f"cd {tmp_path}; PSL_ATTEMPT_FOLDER=$PWD PSL_EXPORTED_PEERS=64{roles}export_known_peers; env"
    found = dict(line.split("=", 1) for line in run(code).splitlines() if line.startswith("PAI_"))
    assert found["PAI_HOST_IP_w_2"] == "10.0.0.9"
    assert found["PAI_w_63_http_PORT"] == "20063,2"
    assert "PAI_HOST_IP_w_64" not in found
    assert ("PAI_TASK_ROLE_w_HOST_LIST" in found) is lists
    if lists:
        hosts = found["PAI_TASK_ROLE_0_HOST_LIST"].split(",")
        assert (len(hosts), hosts[:4]) == (
            300,
            ["10.0.0.0:20000", "10.0.0.1:20001", "10.0.0.9:29999", "10.0.0.3:20003"],
        )


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
    [(100, "$PAI_HOST_IP_w_99", True), (100, "$HOME", False), (9, "$PAI_HOST_IP_w_1", False)],
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

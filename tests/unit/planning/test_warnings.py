"""What is warned of is what the script does."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.environment import MAX_PEER_BYTES, MAX_PEER_VARIABLES
from paislurm.translator.rendering.engine import load

from ..protocol.jobs import JOB, changed
from ..runtime.bash import run

FILL = """
PSL_GANG=1 PSL_ADDRESS_OF=([n]=255.255.255.255)
for role in "${!PSL_ROLE_NAME[@]}"; do
  nodes=()
  for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
    nodes+=(n)
    for label in ${PSL_PORT_COUNTS[role]}; do
      printf -v ports '65535,%.0s' $(eval "echo {1..${label#*:}}")
      PSL_PORTS_OF[$role.$index.${label%:*}]=${ports%,}
    done
  done
  PSL_NODES_OF[role]="${nodes[*]}"
done
list_instances && : >env.sh && write_peers
"""


SETTING = re.compile(r"(?m)^PSL_(?:ROLE_NAME|ROLE_ALIASES|INSTANCES|PORT_COUNTS|MANY_TASKS)\b.*")


def script_of(instances: int, ports: dict[str, int], name: str = "worker") -> tuple[str, list[str]]:
    """Return the script of a job with a second role, and the codes of its warnings."""
    roles = {each: deepcopy(JOB["taskRoles"]["worker"]) for each in (name, "ps")}
    job = changed(changed(JOB, "taskRoles", roles), f"taskRoles/{name}/instances", instances)
    compiled = compile_job(yaml.safe_dump(changed(job, f"taskRoles/{name}/resourcePerInstance/ports", ports)))
    return compiled.script, [fault.code for fault in compiled.warnings]


def largest(ports: dict[str, int], name: str) -> int:
    """Return the most tasks of a job that exports the variables about all."""
    few, many = 1, MAX_PEER_VARIABLES
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if "W404" in script_of(middle, ports, name)[1] else (middle, many)
    return few


@pytest.mark.parametrize(
    ("ports", "name"),
    [({"http": 1}, "worker"), ({"data": 4, "a_b": 2}, "my_worker"), ({"x": 1}, "w" * 40), ({"a": 90}, "w")],
)
def test_the_warning_begins_where_the_variables_about_all_tasks_are_not_exported(
    tmp_path: Path, ports: dict[str, int], name: str
) -> None:
    """Either the number or the size of the variables is near its limit in the largest job without the warning."""
    instances = largest(ports, name)
    settings = {}
    for count in (instances, instances + 1):
        script, codes = script_of(count, ports, name)
        settings[count] = SETTING.findall(script)
        assert ("W404" in codes) is (count > instances)
        assert ("PSL_MANY_TASKS=1" in "\n".join(settings[count])) is (count > instances)
    run("\n".join([f"cd {tmp_path}", *settings[instances], "set_defaults", "set_batch_defaults", FILL]))
    lines = (tmp_path / "peers.sh").read_text().replace("'", "").splitlines()
    number, size = len(lines), sum(map(len, lines)) + len(lines)
    assert number <= MAX_PEER_VARIABLES
    assert size <= MAX_PEER_BYTES
    assert number > 0.98 * MAX_PEER_VARIABLES or size > 0.98 * MAX_PEER_BYTES


def test_the_runtime_has_the_same_limit() -> None:
    assert f"readonly PSL_MAX_PEER_BYTES={MAX_PEER_BYTES}\n" in load("runtime/batch/slots.sh")

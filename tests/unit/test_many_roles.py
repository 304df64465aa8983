"""Jobs of many task roles: work and script are in proportion to the roles, however many nodes the site has."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from paislurm import __version__
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.rendering.provenance import origins
from paislurm.translator.rendering.verification import verify
from paislurm.translator.site.load import load_site

from .protocol.jobs import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction

SITE = load_site(
    "partitions: {big: {nodes: [{count: 1000, cpus: 64, memoryMB: 262144}]}}\ndefaultPartition: big\n",
    file="site.yaml",
)
FABRIC = load_site("infiniband: {adapters: [mlx5_0], interface: ib0, ethernet: eth0}\n", file="site.yaml").infiniband
ROLE = """\
  role_%d:
    dockerImage: %s
    prerequisites: [%s]
    resourcePerInstance: {cpu: %d, memoryMB: %d, gpu: 0}
    commands: [python train.py --batch-size 64]
"""
PLUGIN = "{plugin: cmd, taskroles: [role_%d], parameters: {callbacks: [{event: taskStarts, commands: [date]}]}}"
FEW, MANY = 60, 240
MOST_BYTES = 1500


def roles(count: int, cpus: int = 64) -> str:
    return HEAD + "taskRoles:\n" + "".join(ROLE % (k, "image", "", cpus, 1024) for k in range(count))


def sizes(count: int) -> str:
    """Return roles of which no two are of one size; most nodes have room for another one."""
    return HEAD + "taskRoles:\n" + "".join(ROLE % (k, "image", "", 1 + k * 7 % 64, 1024 + k) for k in range(count))


def prerequisites(count: int) -> str:
    """Return roles with an image and a script each."""
    script = "  - {name: s%d, type: script, plugin: com.microsoft.pai.runtimeplugin.cmd, preCommands: [date]}\n"
    image = "  - {name: i%d, type: dockerimage, uri: 'image:%d'}\n"
    named = "".join(image % (k, k) + script % k for k in range(count))
    return HEAD + named + "taskRoles:\n" + "".join(ROLE % (k, f"i{k}", f"s{k}", 64, 1024) for k in range(count))


def plugins(count: int) -> str:
    listed = ", ".join(PLUGIN % k for k in range(count))
    return f"{roles(count)}extras: {{com.microsoft.pai.runtimeplugin: [{listed}]}}\n"


def in_turn(count: int) -> str:
    return f"{roles(count)}extras: {{gangAllocation: false}}\n"


def fixed_ports(count: int) -> str:
    """Return a job of protocol v1 of which each role has a fixed port of its own."""
    ports = [{"label": "a", "beginAt": 20_000 + k, "portNumber": 1} for k in range(count)]
    each = [
        {"name": f"r{k}", "taskNumber": 1, "cpuNumber": 8, "memoryMB": 100, "command": "date", "portList": [ports[k]]}
        for k in range(count)
    ]
    return json.dumps({"jobName": "v1", "image": "debian", "taskRoles": each})


def lines_run(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs: each turn of a loop counts."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("make", "infiniband"),
    [
        pytest.param(roles, False, id="whole nodes"),
        pytest.param(lambda count: roles(count, 1), False, id="nodes that are shared"),
        pytest.param(sizes, False, id="sizes"),
        pytest.param(prerequisites, False, id="prerequisites"),
        pytest.param(plugins, False, id="plugins"),
        pytest.param(in_turn, False, id="no gang"),
        pytest.param(fixed_ports, False, id="fixed ports"),
        pytest.param(roles, True, id="InfiniBand"),
    ],
)
def test_compile_time_is_proportional_to_the_roles(make: Callable[[int], str], infiniband: bool) -> None:
    site = SITE.model_copy(update={"infiniband": FABRIC}) if infiniband else SITE
    compile_job(make(FEW), site=site)
    few, many = make(FEW), make(MANY)
    most = 1.1 * MANY / FEW * lines_run(lambda: compile_job(few, site=site))
    assert lines_run(lambda: compile_job(many, site=site)) < most


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda found: verify(found.script, __version__), id="verify"),
        pytest.param(lambda found: origins(found.plan, found.document), id="explain"),
        pytest.param(lambda found: plan_text(found.plan), id="plan"),
    ],
)
def test_time_to_read_a_compiled_job_is_proportional_to_the_roles(read: Callable[[Compiled], object]) -> None:
    few, many = (compile_job(roles(count), site=SITE) for count in (FEW, MANY))
    for each in (few, many):  # whose scripts are rendered now
        read(each)
    assert lines_run(lambda: read(many)) < 1.1 * lines_run(lambda: read(few)) * MANY / FEW


@pytest.mark.parametrize("cpus", [1, 64])
@pytest.mark.parametrize("count", [10, pytest.param(1000, marks=pytest.mark.slow("a second or two each"))])
def test_the_script_size_per_role_is_limited(count: int, cpus: int) -> None:
    """What a role adds is the same among ten and among a thousand, but for the digits of its number."""
    less, more = (compile_job(roles(size, cpus), site=SITE) for size in (count - 5, count))
    assert len(more.script) - len(less.script) < 5 * MOST_BYTES
    assert verify(more.script, __version__).genuine


def test_a_role_on_all_nodes_has_a_short_form() -> None:
    text = roles(2, 32).replace("role_0:", "role_0:\n    instances: 1001") + "extras: {slurm: {layout: shared}}\n"
    found = compile_job(text, site=SITE)
    assert "PSL_PLACEMENT[0]='0-499:2 500:1' " in found.script
    assert "PSL_PLACEMENT[1]='500:1' " in found.script
    assert " 2(x500)+1 " in plan_text(found.plan)

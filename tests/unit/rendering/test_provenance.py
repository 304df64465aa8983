"""What `paislurm explain` says: every line of a script that varies has an origin, and it is the right one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.planning.settings.of_job import OF_JOB
from paislurm.translator.planning.settings.of_role import OF_ROLE
from paislurm.translator.rendering.provenance import Origin, origins, table
from paislurm.translator.rendering.runtime_bundle import SEAL

from ..protocol.jobs import HEAD

EXAMPLES = Path(__file__).parents[3] / "examples"
TABLE = table()
JOB = (
    HEAD
    + """\
parameters:
  rate: 0.1
  END: |
    }
taskRoles:
  ps:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - echo "INSTANCES[0]=7"
      - echo <% $parameters.rate %>
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance:
      cpu: 2
      memoryMB: 200
      gpu: 0
    commands:
      - |
        cat <<'END_OF_COMMANDS'
        }
        END_OF_COMMANDS
extras:
  slurm:
    taskRoles:
      worker: {qos: high}
"""
)


def explained(text: str = JOB) -> list[Origin]:
    compiled = compile_job(text)
    return origins(compiled.plan, compiled.document)


def of(found: list[Origin], text: str) -> Origin:
    """Return the one origin whose line is this."""
    (origin,) = (origin for origin in found if re.sub(r" +# .*", "", origin.text) == text)
    return origin


@pytest.mark.parametrize(
    ("line", "job_lines"),
    [
        ("#SBATCH --job-name=demo", (2,)),
        ("#SBATCH --qos=high", (32,)),
        ("PSL_INSTANCES[1]=2", (18,)),
        ("PSL_ROLE_NAME[1]='worker'", (17,)),
        ("  export PAI_CURRENT_TASK_ROLE_CPU_COUNT='2' PAI_TASK_CPU_NUM='2'", (21,)),
        ("export PAI_TASK_ROLE_TASK_COUNT_worker='2'", (18,)),
        ('echo "INSTANCES[0]=7"', (15,)),
        ("echo 0.1", (16,)),
        ("cat <<'END_OF_COMMANDS'", (26,)),
        ("END_OF_COMMANDS", (28,)),
    ],
)
def test_script_lines_name_their_job_file_lines(line: str, job_lines: tuple[int, ...]) -> None:
    assert of(explained(), line).job_lines == job_lines


def test_only_defaults_name_a_rule() -> None:
    found = explained()
    assert of(found, "#SBATCH --ntasks=1").rule.startswith("default 1: PAI protocol, instances; ")
    assert of(found, "PSL_INSTANCES[1]=2").rule is None
    assert "sbatch(1)" in found[1].rule


JOB_V1 = """\
{
  "jobName": "demo",
  "image": "python:3.11",
  "taskRoles": [
    {
      "name": "ps",
      "taskNumber": 2,
      "cpuNumber": 1,
      "memoryMB": 100,
      "gpuNumber": 0,
      "command": "true"
    },
    {"name": "worker", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "shmMB": 64, "command": "true"}
  ],
  "extras": {
    "slurm": {
      "time": "1:00:00",
      "taskRoles": {"worker": {"qos": "high"}}
    }
  }
}
"""


@pytest.mark.parametrize(
    ("line", "job_lines", "rule"),
    [
        ("PSL_INSTANCES[0]=2", (7,), ""),
        ("#SBATCH --qos=high", (18,), "the job file, else the priority class in the site profile"),
        ("PSL_SHELL_OPTIONS[0]=''", (), "default without errexit, nounset and pipefail: PAI launcher, protocol v1"),
        ("PSL_PORT_COUNTS[0]='http:1 ssh:1'", (), "default none: PAI protocol, ports; `ssh` and `http` are added"),
    ],
)
def test_script_lines_of_protocol_v1_are_explained(line: str, job_lines: tuple[int, ...], rule: str) -> None:
    found = of(explained(JOB_V1), line)
    assert found.job_lines == job_lines
    assert rule in (found.rule or "")


def test_the_time_limit_of_protocol_v1_is_explained() -> None:
    assert {origin.job_lines for origin in explained(JOB_V1) if "--time=" in origin.text} == {(17,)}


def test_line_numbers_match_the_script() -> None:
    compiled = compile_job(JOB)
    lines = compiled.script.split("\n")
    found = origins(compiled.plan, compiled.document)
    assert [origin.line for origin in found] == sorted({origin.line for origin in found})
    assert all(lines[origin.line - 1] == origin.text for origin in found)


def jobs() -> list[Path]:
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    published = [*Path(folder).glob("v[12]/**/*.yaml"), *Path(folder).glob("v[12]/**/*.json")] if folder else []
    return [*(file for file in EXAMPLES.glob("*.yaml") if file.stem != "site"), *sorted(published)]


@pytest.mark.parametrize("file", jobs(), ids=lambda file: file.stem)
def test_every_variable_line_is_explained(file: Path) -> None:
    """What has neither an origin nor a rule is bash that holds the parts together."""
    try:
        compiled = compile_job(file.read_bytes())
    except PaislurmError as error:
        assert error.diagnostics
        return
    found = {o.line: o for o in origins(compiled.plan, compiled.document)}
    assert all(origin.job_lines or origin.rule for origin in found.values())
    head = compiled.script[: compiled.script.index(SEAL)]
    ours = ("", "}", "set -u +o posix", "#", 'unset -v "${!PSL_@}"')
    for number, line in enumerate(head.split("\n"), start=1):
        if number not in found and not line.startswith(("# ", "#!", "  cat_stdin <<", "END_OF_", *ours[3:])):
            assert line in ours or line.endswith("() {"), f"line {number} is not explained: {line}"


def test_the_table_contains_exactly_the_named_fields() -> None:
    used = {
        name for part in ("options", "lines", "exports") for entry in TABLE[part].values()
        for name in entry.get("from", ())
    }  # fmt: skip
    of_settings = {name for row in (*OF_JOB, *OF_ROLE) for name in row.fields}
    assert used | of_settings | {"job-envs"} == set(TABLE["fields"])
    assert all(entry for part in ("options", "lines", "exports") for entry in TABLE[part].values())

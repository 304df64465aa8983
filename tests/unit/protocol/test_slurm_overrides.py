"""Options of the command line in the place of keys of `extras.slurm`."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.errors import PlanError, ProtocolError, UsageError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.provenance import origins
from paislurm.translator.site.load import load_site

from .jobs import JOB, changed
from .jobs_v1 import job as job_v1

SITE = load_site(
    b"partitions:\n  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}], timeLimit: 1:00:00}\n"
    b"  other: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}]}\ndefaultPartition: batch\n",
    file="site.yaml",
)


def text(extras: object = None) -> bytes:
    return yaml.safe_dump(changed(JOB, "extras", extras) if extras is not None else JOB, sort_keys=False).encode()


def directives(source: bytes | str, **given: str) -> dict[str, Any]:
    compiled = compile_job(source, site=SITE, slurm=given)
    return dict(compiled.plan.components[0].directives)


def test_command_line_options_override_job_file_roles_and_profile() -> None:
    slurm = {"time": "0:10:00", "partition": "batch", "qos": "low", "taskRoles": {"worker": {"partition": "batch"}}}
    found = directives(text({"slurm": slurm}), time="30", partition="other", account="us")
    assert (found["time"], found["partition"], found["account"], found["qos"]) == ("00:30:00", "other", "us", "low")


def test_command_line_options_apply_to_protocol_v1() -> None:
    assert directives(job_v1(), time="30", partition="other")["time"] == "00:30:00"


def test_script_lines_name_the_option_as_source() -> None:
    compiled = compile_job(text({"slurm": {"time": "0:10:00"}}), site=SITE, slurm={"time": "30"})
    (line,) = (each for each in origins(compiled.plan, compiled.document) if "--time=" in each.text)
    assert (line.rule, line.job_lines) == ("--time of the command line", ())


def test_all_invalid_option_values_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as error:
        directives(text(), time="soon", partition="a b", account="x\ny", qos="ok")
    assert [(each.code, each.message.partition(":")[0]) for each in error.value.diagnostics] == [
        ("E585", "--time 'soon'"),
        ("E585", "--partition 'a b'"),
        ("E585", "--account 'x\\ny'"),
    ]


@pytest.mark.parametrize(("given", "code"), [({"partition": "nowhere"}, "E402"), ({"time": "2:00:00"}, "E403")])
def test_the_plan_checks_options_like_job_file_values(given: dict[str, str], code: str) -> None:
    with pytest.raises(PlanError) as error:
        directives(text(), **given)
    assert error.value.diagnostics[0].code == code


@pytest.mark.parametrize("extras", ["text", ["list"], {"slurm": 3}])
def test_errors_in_the_file_are_still_reported(extras: object) -> None:
    with pytest.raises(ProtocolError):
        directives(text(extras), time="30")

"""What `binding` may be, in a job file and in a site profile, and what srun gets of it."""

from __future__ import annotations

import json

import pytest

from paislurm.translator.errors import SiteError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site

from .jobs import check, faults, job

OFF = (("cpu-bind", "none"), ("mem-bind", "none"))


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ("auto", ()),
        ({}, ()),
        ("none", OFF),
        ({"cpu": "none", "mem": "none"}, OFF),
        ({"cpu": "cores", "mem": "local"}, (("cpu-bind", "cores"), ("mem-bind", "local"))),
        ({"cpu": "map_cpu:0,0x4*2"}, (("cpu-bind", "map_cpu:0,0x4*2"),)),
        ({"cpu": "mask_ldom:0x1,0xF"}, (("cpu-bind", "mask_ldom:0x1,0xF"),)),
        ({"mem": "map_mem:0,1"}, (("mem-bind", "map_mem:0,1"),)),
        ({"gpu": "per_task:2", "tasksPerSocket": 4}, (("gpu-bind", "per_task:2"), ("ntasks-per-socket", "4"))),
        ({"gpu": "mask_gpu:0x3,0xc"}, (("gpu-bind", "mask_gpu:0x3,0xc"),)),
    ],
)
def test_what_srun_gets(value: object, options: tuple[tuple[str, str], ...]) -> None:
    extras = {"binding": value, "taskRoles": {"worker": {"binding": value}}}
    found = check(job("extras/slurm", extras)).job
    assert found.slurm_options.job.binding == options
    assert found.roles[0].slurm_options.binding == options
    assert load_site(f"binding: {json.dumps(value)}\n", file="site.yaml").binding.step_options == options


@pytest.mark.parametrize(
    ("extras", "site", "action"),
    [
        ({}, "", "warn"),
        ({}, "binding: {onMismatch: error}", "error"),
        ({"binding": "auto"}, "binding: {onMismatch: error}", "warn"),
        ({"binding": {"onMismatch": "error"}}, "", "error"),
        ({"binding": {"onMismatch": "error"}, "taskRoles": {"worker": {"binding": {"cpu": "cores"}}}}, "", "warn"),
    ],
)
def test_a_mismatch_is_an_error_if_the_nearest_binding_says_so(
    extras: dict[str, object], site: str, action: str
) -> None:
    """As with all keys of `binding`, a role's mapping replaces the job's, which replaces the site's."""
    found = compile_job(job("extras/slurm", extras), site=load_site(f"name: x\n{site}\n", file="site.yaml"))
    assert found.plan.roles[0].on_mismatch == action
    assert ("PSL_BINDING[0]='strict'" in found.script) is (action == "error")


def test_without_a_value_there_is_no_binding() -> None:
    assert check(job()).job.slurm_options.job.binding is None


WHOLE = "expected `auto`, `none` or a mapping such as `{cpu: cores, mem: local}`"
GPU = "expected `none`, `closest`, `per_task:1`, `single:1`, or a list such as `map_gpu:0,1` or `mask_gpu:0x1,0x2`"
MEM = "expected `none`, `rank`, `local`, or a list such as `map_mem:0,1` or `mask_mem:0x1,0x2`"


@pytest.mark.parametrize(
    ("value", "path", "code", "message", "hint"),
    [
        ("cores", "", "E203", f"{WHOLE}, found 'cores'", "write `{cpu: cores}` for --cpu-bind=cores"),
        (True, "", "E203", f"{WHOLE}, found true", ""),
        ([], "", "E203", f"{WHOLE}, found an empty list", ""),
        ({"gpu": "near"}, ".gpu", "E203", f"{GPU}, found 'near'", ""),
        ({"gpu": "per_task:0"}, ".gpu", "E203", f"{GPU}, found 'per_task:0'", ""),
        ({"mem": "local,sort"}, ".mem", "E203", f"{MEM}, found 'local,sort'", ""),
        ({"mem": "map_mem:0, 1"}, ".mem", "E203", f"{MEM}, found 'map_mem:0, 1'", ""),
        ({"tasksPerSocket": 0}, ".tasksPerSocket", "E203", "expected a whole number of at least 1, found 0", ""),
    ],
)
def test_what_is_refused(value: object, path: str, code: str, message: str, hint: str) -> None:
    (found,) = faults(job("extras/slurm/binding", value))
    assert (found.code, found.message, found.hint) == (code, message, hint)
    assert found.path == f"$.extras.slurm.binding{path}"


@pytest.mark.parametrize("value", ["core", "map_cpu:", "map_cpu:0,,1", "map_cpu:a", "mask_cpu:3", "quiet,cores", 1])
def test_what_cpus_are_not_bound_to(value: object) -> None:
    (found,) = faults(job("extras/slurm/binding", {"cpu": value}))
    assert (found.code, found.path) == ("E203", "$.extras.slurm.binding.cpu")
    assert found.message.startswith("expected `none`, `rank`, `rank_ldom`, `threads`, `cores`, `sockets`, `ldoms`, or")


def test_a_distribution_of_cpus_is_no_key() -> None:
    """The planner imposes the placement by a host file, beside which srun takes no other distribution."""
    (found,) = faults(job("extras/slurm/binding", {"distribution": "block"}))
    assert (found.code, found.hint) == ("E201", "use one of `cpu`, `gpu`, `mem`, `tasksPerSocket`, `onMismatch`")


def test_a_site_has_the_same_rules() -> None:
    with pytest.raises(SiteError) as caught:
        load_site("binding: {cpu: core}\n", file="site.yaml")
    [found] = caught.value.diagnostics
    assert (found.code, found.path) == ("E453", "$.binding.cpu")

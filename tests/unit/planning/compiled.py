"""Small jobs that are compiled for made-up sites, and what Slurm is asked for."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import Diagnostic, PlanError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Site

from ..protocol.jobs import JOB, ROLE, changed

PROFILE = """
partitions:
  gpu:
    nodes:
      - {count: 2, cpus: 16, memoryMB: 100000, gpus: 8, gpuType: a100}
      - {count: 6, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100}
defaultPartition: gpu
nodeTypes: {DGX: {gpuType: a100}, K80: {constraint: k80}}
"""

UNDESCRIBED = "partitions: {normal: {}}\n"
"""A profile that names a partition, and no nodes."""


def role(instances: int, gpus: int, cpus: int = 1, memory: int = 100, **more: Any) -> dict[str, Any]:
    """Return a role whose tasks need so much."""
    resources = {"cpu": cpus, "memoryMB": memory, "gpu": gpus}
    return {**ROLE, "instances": instances, "resourcePerInstance": resources, **more}


def sku(**types: str) -> dict[str, Any]:
    """Return extras that name the node types of roles."""
    return {"hivedScheduler": {"taskRoles": {name: {"skuType": kind} for name, kind in types.items()}}}


def site_of(profile: str) -> Site:
    """Read a site profile."""
    return load_site(profile or "{}\n", file="site.yaml")


def compiled(roles: dict[str, Any], extras: dict[str, Any] | None = None, more: str = "") -> Compiled:
    """Compile a job with these roles for a site of eight nodes with GPUs; `more` is a part of its profile."""
    return compiled_for(PROFILE + more, roles, extras)


def compiled_for(site: Site | str | None, roles: dict[str, Any], extras: dict[str, Any] | None = None) -> Compiled:
    """Compile a job with these roles for a site, or for one of which nothing is known."""
    job = changed(changed(JOB, "taskRoles", roles), "extras", extras or {})
    known = site_of(site) if isinstance(site, str) else site or Site.of()
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=known)


def refusal(site: Site | str | None, roles: dict[str, Any], extras: dict[str, Any] | None = None) -> Diagnostic:
    """Return the one reason why a job cannot be planned."""
    with pytest.raises(PlanError) as caught:
        compiled_for(site, roles, extras)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def directives(found: Compiled, component: int = 0) -> dict[str, str | None]:
    """Return the options of a component."""
    return dict(found.plan.components[component].directives)


def asked(found: Compiled, component: int = 0) -> dict[str, str | None]:
    """Return the options of a component that say how much of what it needs."""
    names = ("nodes", "ntasks", "ntasks-per-node", "gres", "gpus-per-task", "constraint", "mem", "mem-per-cpu", "hint")
    return {name: value for name, value in directives(found, component).items() if name in names}


def step(found: Compiled, position: int = 0) -> dict[str, str | None]:
    """Return the options of a role's srun."""
    return dict(found.plan.roles[position].step_options)


def needed(found: Compiled) -> list[str]:
    """Return the number of nodes that the warning names."""
    return [re.findall(r"fewer than (\d+) nodes", each.message)[0] for each in found.warnings if each.code == "W403"]

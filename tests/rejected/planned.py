"""Compile the jobs of planned.yaml, each for a site that cannot run it, or only in part."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.unit.protocol.jobs import JOB, ROLE, changed

if TYPE_CHECKING:
    from paislurm.translator.errors import Diagnostic

SITE: dict[str, Any] = yaml.safe_load("""
partitions:
  normal:
    nodes: [{count: 4, cpus: 16, memoryMB: 100000, gpus: 4, gpuType: v100, features: [v100, ib], gres: ["hca:1"]}]
defaultPartition: normal
""")


@dataclass(frozen=True)
class Case:
    """Hold what a case adds to the small job and to the small profile; `site` is None without a profile."""

    job: dict[str, Any]
    site: dict[str, Any] | None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the errors of the job, or its warnings if it has none."""
        job = JOB if "taskRoles/ps/instances" not in self.job else changed(JOB, "taskRoles/ps", ROLE)
        for path, value in self.job.items():
            job = changed(job, path, value)
        text = yaml.safe_dump(job, sort_keys=False)
        try:
            if self.site is None:
                return tuple(compile_job(text).warnings)
            return tuple(compile_job(text, site=load_site(yaml.safe_dump(SITE | self.site), file="site.yaml")).warnings)
        except PaislurmError as error:
            return error.diagnostics


def cases() -> dict[str, Case]:
    """Return the cases by their codes."""
    found = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {code: Case(each.get("job", {}), each.get("site", {})) for code, each in found.items()}

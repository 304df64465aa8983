"""Where the commands of a role start, and whether its containers have that folder."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.site.load import load_site

from ..protocol.jobs import JOB, ROLE, changed

PROFILE = """
containers: {runtime: RUNTIME, images: {IMAGE: /images/one}, mounts: [/scratch]}
defaultFileSystem: /fs
storages: {nfs: {path: /data/nfs}}
"""


def compiled(slurm: dict[str, Any], runtime: str = "podman", more: str = "") -> Compiled:
    job = changed(JOB, "extras", {"slurm": slurm, "storages": [{"name": "nfs"}]})
    job = changed(job, "taskRoles/other", ROLE)
    image = job["prerequisites"][0]["uri"]
    profile = PROFILE.replace("RUNTIME", runtime).replace("IMAGE", image) + more
    return compile_job(yaml.safe_dump(job, sort_keys=False), site=load_site(profile, file="site.yaml"))


def test_the_folder_of_a_role_overrides_that_of_the_job() -> None:
    found = compiled({"workdir": "submit", "taskRoles": {"other": {"workdir": "/scratch/x"}}})
    assert [role.workdir for role in found.plan.roles] == ["submit", "/scratch/x"]
    assert "PSL_WORKDIR[0]='submit' " in found.script
    assert "PSL_WORKDIR[1]='/scratch/x' " in found.script
    text = plan_text(found.plan)
    assert "workdir     the submit folder for worker\n" in text
    assert "workdir     /scratch/x for other\n" in text


@pytest.mark.parametrize("folder", [None, "task", "submit", "./x", "/scratch", "/scratch/a/b", "/fs/x", "/mnt/nfs"])
def test_folders_mounted_by_the_site_are_accepted(folder: str | None) -> None:
    found = compiled({"workdir": folder})
    assert "W424" not in [fault.code for fault in found.warnings]
    assert ("PSL_WORKDIR[0]=" in found.script) == (folder not in (None, "task"))


@pytest.mark.parametrize("folder", ["/", "/scratching", "/data/nfs", "/workspace"])
def test_a_folder_that_only_the_image_can_contain_gets_a_warning(folder: str) -> None:
    (fault,) = [fault for fault in compiled({"workdir": folder}).warnings if fault.code == "W424"]
    assert fault.path == "$.extras.slurm.workdir"
    assert fault.message == (
        f"the site does not mount {folder}: the image of role worker, other must contain this folder"
    )
    assert "W424" not in [fault.code for fault in compiled({"workdir": folder}, "none").warnings]


def test_the_warning_names_the_role_concerned() -> None:
    found = compiled({"workdir": "submit", "taskRoles": {"other": {"workdir": "/workspace"}}})
    (fault,) = [fault for fault in found.warnings if fault.code == "W424"]
    assert fault.path == "$.extras.slurm.taskRoles.other.workdir"
    assert "the image of role other " in fault.message


@pytest.mark.parametrize(("slurm", "expected"), [({}, "/site"), ({"workdir": "task"}, "task")])
def test_the_site_can_set_the_default_folder(slurm: dict[str, Any], expected: str) -> None:
    found = compiled(slurm, "podman", "workdir: /site\n")
    assert [role.workdir for role in found.plan.roles] == [expected, expected]
    assert [fault.path for fault in found.warnings if fault.code == "W424"] == ["$.taskRoles"] * (expected == "/site")

"""Where the commands of a role start, and whether its containers have that folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from paislurm.translator.planning.plan_text import plan_text

from ..protocol.jobs import JOB, ROLE
from .compiled import compiled_for

if TYPE_CHECKING:
    from paislurm.translator.pipeline import Compiled

PROFILE = """
containers: {runtime: RUNTIME, images: {IMAGE: /images/one}, mounts: [/scratch]}
defaultFileSystem: /fs
storages: {nfs: {path: /data/nfs}}
"""


def compiled(slurm: dict[str, Any], runtime: str = "podman", more: str = "") -> Compiled:
    profile = PROFILE.replace("RUNTIME", runtime).replace("IMAGE", JOB["prerequisites"][0]["uri"]) + more
    return compiled_for(profile, {"worker": ROLE, "other": ROLE}, {"slurm": slurm, "storages": [{"name": "nfs"}]})


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

"""A node with whole GPUs and two kinds of slices: detected, planned, and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.site.load import load_site
from tests.cluster.jobs import BOTH, job_text, role
from tests.cluster.kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

KIND = KINDS["slices"]
SHOW = "scontrol --detail --oneliner show job $SLURM_JOB_ID | grep -o 'GRES=[^ ]*'; echo devices $CUDA_VISIBLE_DEVICES"
TYPES = ("a100:2", "1g.10gb:1", "a100_3g.40gb:1")


@pytest.fixture
def detected(site: Site, folder: Path) -> Site:
    """The site with the profile that is detected."""
    done = site.run("paislurm", "site", "detect", "--output", "site.yaml", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote site.yaml\n")
    site.profile = (folder / "site.yaml").read_text()
    return site


def with_gpus(name: str, gpus: int) -> str:
    return role(name, 1, SHOW).replace("gpu: 0", f"gpu: {gpus}")


def test_the_profile_has_all_types(detected: Site, folder: Path) -> None:
    shapes = load_site(detected.profile, file="site.yaml").partitions["normal"].nodes
    assert [(shape.gpu_types, shape.gpus, shape.gpu_type) for shape in shapes] == [
        (TYPES, 0, ""), ((), 4, "a100"), ((), 0, ""),
    ]  # fmt: skip
    assert detected.run("paislurm", "site", "check", "--site", "site.yaml", cwd=folder).returncode == 0


@BOTH
@pytest.mark.parametrize(
    ("sku", "gpus", "expected"),
    [("", 2, "gpu:a100:2"), ("1g.10gb", 1, "gpu:1g.10gb:1(IDX:2)"), ("A100_3G.40GB", 1, "gpu:a100_3g.40gb:1(IDX:3)")],
)
def test_a_task_gets_gpus_of_one_type(
    detected: Site, folder: Path, layout: str, sku: str, gpus: int, expected: str
) -> None:
    wanted = f"hivedScheduler: {{taskRoles: {{w: {{skuType: {sku}}}}}}}, " if sku else ""
    extras = f"{{{wanted}slurm: {{layout: {layout}, nodelist: n1}}}}"
    job = detected.submit(folder, with_gpus("w", gpus), extras)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    assert expected in job.log("0-w/0")
    assert len(job.log("0-w/0").rpartition("devices ")[2].split(",")) == gpus


@BOTH
def test_two_roles_take_slices_and_whole_gpus(detected: Site, folder: Path, layout: str) -> None:
    """In one allocation, all roles have GPUs of the same type."""
    other = "a100" if layout == "shared" else "1g.10gb"
    skus = f"hivedScheduler: {{taskRoles: {{a: {{skuType: a100}}, b: {{skuType: {other}}}}}}}"
    # Slurm gives component 0 the first node, and then never starts the other one.
    nodes = ", taskRoles: {a: {nodelist: n2}}" if layout == "het" else ""
    extras = f"{{{skus}, slurm: {{layout: {layout}{nodes}}}}}"
    job = detected.submit(folder, with_gpus("a", 2) + with_gpus("b", 1), extras)
    assert job.over()[:2] == ("SUCCEEDED", 0)
    assert ("1g.10gb" in job.log("1-b/0")) == (layout == "het")
    visible = [job.log(task).rpartition("devices ")[2].split(",") for task in ("0-a/0", "1-b/0")]
    assert [len(each) for each in visible] == [2, 1]
    assert layout == "shared" or visible[1] == ["2\n"]


def test_more_slices_than_a_node_has_are_refused(detected: Site, folder: Path) -> None:
    skus = "{hivedScheduler: {taskRoles: {w: {skuType: 1g.10gb}}}}"
    detected.write(folder, "job.yaml", job_text("wide", with_gpus("w", 2), skus))
    done = detected.run("paislurm", "plan", "--site", "site.yaml", "job.yaml", cwd=folder)
    assert done.returncode == 4
    assert "2 1g.10gb GPUs does not fit partition normal" in done.stderr
    assert "at most 1 1g.10gb GPU there" in done.stderr

"""The table of container runtimes: each row has its bash and its documentation, and no bash is without a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paislurm.translator.site.containers import BASH_PARTS, CONTAINER_RUNTIMES, RUNTIME_NAMES
from paislurm.translator.site.load import load_site

ROOT = Path(__file__).parents[3]
OF_ALL = {"containers", "container_side", "own_part", "images", "cache", "registry"}
"""Parts of the script that all container runtimes have in common."""


@pytest.mark.parametrize("folder", ["containers", "images"])
def test_every_runtime_has_a_bash_template(folder: str) -> None:
    found = {file.stem for file in (ROOT / "templates" / "runtime" / folder).glob("*.sh")}
    assert found - OF_ALL == set(BASH_PARTS)


def test_every_runtime_is_documented() -> None:
    page = (ROOT / "docs/how-to/jobs/containers.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^## Runtimes\n\n(.*?)\n\n", page, re.MULTILINE | re.DOTALL)
    documented = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert documented == set(CONTAINER_RUNTIMES)


@pytest.mark.parametrize("name", RUNTIME_NAMES)
def test_a_profile_can_name_every_runtime(name: str) -> None:
    assert load_site(f"containers: {{runtime: {name}}}", file="site.yaml").containers.runtime == name


@pytest.mark.parametrize(
    ("name", "path", "reads"),
    [
        ("charliecloud", "/images/one", True),
        ("charliecloud", "/images/one.sif", False),
        ("apptainer", "/images/one.sif", True),
        ("singularity", "/images/one.sqsh", True),
        ("pyxis", "/images/one.sqsh", True),
        ("enroot", "/images/one", False),
        ("enroot", "/images/one.sif", False),
    ],
)
def test_image_formats_of_each_runtime_are_known(name: str, path: str, *, reads: bool) -> None:
    assert CONTAINER_RUNTIMES[name].reads(path) is reads

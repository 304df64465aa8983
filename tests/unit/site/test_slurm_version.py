"""Versions of Slurm are found in whatever names them, and compare as versions do."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.errors import SiteError
from paislurm.translator.site.load import load_site
from paislurm.translator.site.slurm_version import SlurmVersion, slurm_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm 24.11.5\n", "24.11.5"),
        ("slurm-wlm 22.05.8\n", "22.05.8"),
        ("slurm 26.05.5-Debian", "26.05.5"),
        ("slurm 21.08.8-2", "21.08.8"),
        ("slurm 23.02.7-1.el9", "23.02.7"),
        ("25.05.0-0rc1", "25.05.0rc"),
        ("24.11.0rc2", "24.11.0rc"),
        ("25.05.10", "25.05.10"),
    ],
)
def test_versions_are_found(text: str, version: str) -> None:
    assert str(slurm_version(text)) == version
    assert slurm_version(version) == slurm_version(text)


@pytest.mark.parametrize(
    "text", ["", "slurm", "slurm 24.11", "slurm 2.6.9", "20240501", "v124.11.5", "24.11.1234", "2٤.11.5"]
)
def test_incomplete_versions_are_ignored(text: str) -> None:
    assert slurm_version(text) is None


def test_versions_are_ordered_numerically_with_candidates_first() -> None:
    ordered = ["24.11.9", "24.11.10", "25.05.0rc1", "25.05.0", "25.05.1"]
    found = [slurm_version(text) for text in ordered]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(found))


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    found = slurm_version(text)
    assert found is None or slurm_version(str(found)) == found


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 999), st.sampled_from(("slurm ", "slurm-wlm ", "")))
def test_any_version_is_found(year: int, month: int, micro: int, name: str) -> None:
    assert slurm_version(f"{name}{year:02}.{month:02}.{micro}-Debian\n") == SlurmVersion(year, month, micro)


def test_the_profile_can_set_the_version() -> None:
    assert load_site("slurmVersion: slurm-wlm 22.05.8", file="site.yaml").slurm_version == "22.05.8"
    assert load_site("name: x", file="site.yaml").slurm_version == ""


@pytest.mark.parametrize("value", ["24.11", "new", "[24.11.5]", "null"])
def test_an_incomplete_version_in_the_profile_is_refused(value: str) -> None:
    with pytest.raises(SiteError, match="E453: expected a version of Slurm with three numbers"):
        load_site(f"slurmVersion: {value}", file="site.yaml")

"""Three job files in which one value becomes another, against what the reference says of each: mutations.yaml."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from paislurm.translator.errors import ProtocolError

from .jobs import check

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("mutations.yaml").read_text(encoding="utf-8"))
VALUES: dict[str, Any] = {"null" if name is None else str(name).lower(): to for name, to in TABLE["values"].items()}


def places(job: dict[str, Any], at: str) -> list[list[str | int]]:
    """Return the paths that a row means in a job; what stands around the value has to be there."""
    steps: list[str | int] = [int(step) if step.isdecimal() else step for step in at.split()]
    paths = (
        [[role if step == "ROLE" else step for step in steps] for role in job["taskRoles"]]
        if "ROLE" in steps
        else [steps]
    )
    return [path for path in paths if inside(job, path[:-1]) is not None]


def inside(job: Any, path: list[str | int]) -> Any:
    for step in path:
        there = len(job) > step if isinstance(step, int) and isinstance(job, list) else step in job
        if not there:
            return None
        job = job[step]
    return job


def mutated(job: dict[str, Any], path: list[str | int], value: object) -> dict[str, Any]:
    root = copy.deepcopy(job)
    around = inside(root, path[:-1])
    if value != "gone":
        around[path[-1]] = value
    elif isinstance(around, list) or path[-1] in around:
        del around[path[-1]]
    return root


def verdict(row: dict[str, Any], name: str, value: str) -> bool:
    """Tell whether a row accepts a value, here."""
    accepted = row.get("but", {}).get(name, row["accepted"]).split()
    return (accepted == ["all"] or value in accepted) and value not in row.get("here", {})


CASES = [
    pytest.param(row, name, id=f"{name}: {row['at']}")
    for row in TABLE["rows"]
    for name in row.get("only", " ".join(TABLE["jobs"])).split()
    if places(TABLE["jobs"][name], row["at"])
]


@pytest.mark.parametrize("name", TABLE["jobs"])
def test_the_jobs_are_right(name: str) -> None:
    assert check(json.dumps(TABLE["jobs"][name])).job.name == name


@pytest.mark.parametrize(("row", "name"), CASES)
def test_mutations_are_judged_as_by_openpai(row: dict[str, Any], name: str) -> None:
    job = TABLE["jobs"][name]
    found = {
        (*path, value): accepts(mutated(job, path, to))
        for path in places(job, row["at"])
        for value, to in VALUES.items()
    }
    assert found == {at: verdict(row, name, str(at[-1])) for at in found}


def accepts(job: dict[str, Any]) -> bool:
    try:
        return check(json.dumps(job)).job.protocol == "2"
    except ProtocolError:
        return False


def test_each_row_is_used_and_names_values() -> None:
    for row in TABLE["rows"]:
        names = f"{row['accepted']} {' '.join(row.get('but', {}).values())} {' '.join(row.get('here', {}))}".split()
        assert set(names) <= {*VALUES, "all"}, row
        used = [
            name
            for name, job in TABLE["jobs"].items()
            if name in row.get("only", name).split() and places(job, row["at"])
        ]
        assert used, row
        assert row["source"]

"""The examples run, and do what they say: real jobs on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..running import Runner

EXAMPLES = sorted(file for file in (Path(__file__).parents[4] / "examples").glob("*.yaml") if file.stem != "site")
PRINTED = {
    "hello-world": {"hello-1": "hello from task 1 at"},
    "parameter-server": {"ps-0": "serving on", "worker-1": "worker 1 of 2 learns from"},
    "rendezvous": {"worker-0": "met 1 2 3\n", "worker-3": "3 was told welcome\n"},
    "tolerant-sweep": {"trial-7": "trial 7\n"},
}
STATES = {
    "parameter-server": {"ps-0": "STOPPED"},
    "tolerant-sweep": {"trial-5": "SUCCEEDED", "trial-6": "FAILED", "trial-7": "FAILED"},
}


def test_every_example_is_looked_at() -> None:
    assert {file.stem for file in EXAMPLES} == set(PRINTED)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_example(file: Path, run: Runner, surroundings: Path) -> None:
    done = run("submit", str(file), "--backend", "local", "--wait")
    assert done.code == 0, done.err
    (folder,) = surroundings.iterdir()
    result: dict[str, Any] = json.loads((folder / "attempts/0/result.json").read_text())
    assert result["outcome"] == "succeeded"
    states = {f"{task['role']}-{task['index']}": task["state"] for task in result["tasks"]}
    expected = {**dict.fromkeys(states, "SUCCEEDED"), **STATES.get(file.stem, {})}
    assert states == expected
    for task, text in PRINTED[file.stem].items():
        role, _, index = task.rpartition("-")
        (log,) = folder.glob(f"attempts/0/logs/*-{role}/{index}.stdout.log")
        assert text in log.read_text()

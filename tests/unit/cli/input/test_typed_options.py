"""Errors about values of the command line name the option that was typed, and no line of the job file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ..running import JOB, job_file

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

SITE = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}], timeLimit: 1:00:00}
defaultPartition: batch
accounts: {physics: {qos: [normal]}}
qos: {normal: {}}
"""


@pytest.fixture
def limited(tmp_path: Path, profile: Path) -> str:
    profile.write_text(SITE, encoding="utf-8")
    return job_file(tmp_path, f"{JOB}parameters: {{lr: 1}}\n")


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--partition", "bach"), "--partition: the site has no partition 'bach'", "did you mean `batch`?"),
        (("--partition", "zzz"), "--partition: the site has no partition 'zzz'", "write `--partition batch`"),
        (("--partition", "a,b"), "--partition: the site has no partition 'a,b'", "write one partition, not a list"),
        (("--time", "2:00:00"), "--time: a time limit of 02:00:00 is more than", "write `--time 01:00:00`, or less"),
        (("--account", "physic"), "--account: the site has no account 'physic'", "did you mean `physics`?"),
        (("--account", "zzz"), "--account: the site has no account 'zzz'", "write `--account physics`"),
        (("--qos", "zzz"), "--qos: the site has no QOS 'zzz'", "write `--qos normal`"),
        (("--set", "lrr=1"), "--set lrr: the job has no parameter `lrr`", "did you mean `lr`?"),
        (("--suffix", " x"), "--suffix: the job's name 'demo x': expected a name", ""),
    ],
)
def test_errors_name_the_command_line_option(
    run: Runner, limited: str, words: tuple[str, ...], said: str, hint: str
) -> None:
    shown = run("check", limited, *words, "--json")
    (found,) = json.loads(shown.out)["diagnostics"]
    assert found["message"].startswith(said)
    assert hint in found.get("hint", "")
    assert found.keys().isdisjoint(("file", "line", "path"))
    assert "protocolVersion" not in shown.err


@pytest.mark.usefixtures("limited")
def test_errors_in_the_file_name_the_file(run: Runner, tmp_path: Path) -> None:
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{partition: bach}}}}\n")
    said = ("error E402: the site has no partition 'bach'", "extras: {slurm: {partition: bach}}")
    run("check", file, "--time", "30").ends(4, *said)

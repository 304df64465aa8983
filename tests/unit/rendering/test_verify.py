"""A change of the runtime is reported by line, a change of the head by its digest; whatever compiles is genuine."""

from __future__ import annotations

import json
import random
from functools import cache

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from paislurm.translator.errors import PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.render import uses_of
from paislurm.translator.rendering.runtime_bundle import ALL_USES, SEAL, runtime
from paislurm.translator.rendering.verification import head_difference, verify
from paislurm.translator.site.containers import RUNTIME_NAMES
from paislurm.translator.site.load import load_site
from tests.golden.remake import CASES, compiled, whole_script

VERSION = "1.0"
"""That of the golden scripts."""


@cache
def script(position: int) -> str:
    return whole_script(CASES[position])


def hello() -> str:
    return script([case.name for case in CASES].index("hello"))


@pytest.mark.parametrize("position", range(len(CASES)), ids=[case.name for case in CASES])
def test_compiled_scripts_are_genuine(position: int) -> None:
    verdict = verify(script(position), VERSION)
    assert verdict.genuine
    assert not verdict.edited
    assert verdict.uses == uses_of(compiled(CASES[position]).plan)


CHANGES = (
    lambda line: line + " ",
    lambda line: line[:-1],
    lambda line: f"{line}; id",
    lambda line: line.replace("=", "=$(id)", 1),
    lambda line: f"id\n{line}",
    lambda line: line[:0],
    lambda line: line.swapcase(),
)


def test_a_change_of_any_line_is_detected() -> None:
    """In the runtime as a fault of its line, in the head by the digest."""
    dice = random.Random(12)
    for _ in range(1000):
        lines = script(dice.randrange(len(CASES))).split("\n")
        number = dice.randrange(len(lines) - 1)
        changed = dice.choice(CHANGES)(lines[number])
        if changed == lines[number]:
            continue
        verdict = verify("\n".join([*lines[:number], changed, *lines[number + 1 :]]), VERSION)
        assert verdict.diagnostics or verdict.edited, (number, lines[number], changed)
        behind = number > next(at for at, line in enumerate(lines) if line.startswith(SEAL)) + 1
        assert verdict.diagnostics or not behind


def test_an_edit_of_the_head_is_reported_and_shown() -> None:
    whole = hello()
    edited = whole.replace("--ntasks=2", "--ntasks=3", 1)
    assert (verify(edited, VERSION).diagnostics, verify(edited, VERSION).edited) == ((), True)
    difference = head_difference(edited, whole, ("job.sbatch", "compiled from job.yaml"))
    assert difference.startswith("--- compiled from job.yaml\n+++ job.sbatch\n")
    assert [line for line in difference.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-#SBATCH --ntasks=2",
        "+#SBATCH --ntasks=3",
    ]
    assert head_difference(whole, whole, ("a", "b")) == ""


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)
WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,7}", fullmatch=True)
TRAPS = st.sampled_from(("END_OF_COMMANDS", "}", "'", f"{SEAL}1.0", "#SBATCH --wrap=id", "a'\\''b"))
LINES = st.lists(TEXTS | TRAPS, min_size=1, max_size=4)


@st.composite
def job_files(draw: st.DrawFn) -> bytes:
    """Make a job of any words in every place where the protocol takes texts."""
    roles = {
        name: {
            "instances": draw(st.integers(1, 5)),
            "dockerImage": "image",
            "resourcePerInstance": {"cpu": 1, "memoryMB": draw(st.integers(1, 900)), "gpu": draw(st.integers(0, 2))},
            "completion": {"minFailedInstances": draw(st.integers(1, 3)), "minSucceededInstances": -1},
            "taskRetryCount": draw(st.integers(-2, 3)),
            "commands": draw(LINES),
        }
        for name in draw(st.lists(WORDS, min_size=1, max_size=3, unique=True))
    }
    slurm = {
        "gangAllocation": draw(st.booleans()),
        "layout": "shared" if draw(st.booleans()) else None,
        "workdir": draw(st.sampled_from(("task", "submit", "/it's here"))),
        "exportEnv": draw(st.none() | st.lists(WORDS, max_size=2)),
    }
    chosen = {key: value for key, value in slurm.items() if value is not None}
    gang = chosen.pop("gangAllocation")
    return json.dumps(
        {
            "protocolVersion": 2,
            "type": "job",
            "name": draw(st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)),
            "prerequisites": [{"type": "dockerimage", "name": "image", "uri": "python:3"}],
            "taskRoles": roles,
            "extras": {"gangAllocation": gang, "slurm": chosen},
        }
    ).encode()


@given(file=job_files(), runtime=st.sampled_from(RUNTIME_NAMES), vendor=st.sampled_from(("nvidia", "amd")))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_scripts_of_any_job_are_genuine(file: bytes, runtime: str, vendor: str) -> None:
    profile = f"containers: {{runtime: {runtime}, cache: /c, mounts: [/a b]}}\ngpus: {{vendor: {vendor}}}\n"
    profile += "partitions: {all: {nodes: [{count: 9, cpus: 64, memoryMB: 64000, gpus: 8}]}}\ndefaultPartition: all"
    site = load_site(profile.encode(), file="site.yaml")
    try:
        whole = compile_job(file, site=site, version=VERSION).script
    except PaislurmError as error:
        # Each fault of such a job is one of its words; most have none.
        assert error.diagnostics
        return
    event("compiled")
    verdict = verify(whole, VERSION)
    assert (verdict.diagnostics, verdict.edited) == ((), False)


def test_a_seal_in_the_commands_does_not_hide_edits() -> None:
    whole = hello()
    seal = whole[whole.index(SEAL) :]
    assert verify(whole.replace("\nEND_OF_COMMANDS\n", f"\n{seal}\nEND_OF_COMMANDS\n", 1), VERSION).edited
    evil = whole[: whole.index(SEAL)] + "id\n" + whole[whole.index(SEAL) :]
    assert verify(evil, VERSION).edited


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "no seal"), ("#!/bin/bash\nid\n", "no seal"), (f"x\n{SEAL}1.0 and more\n", "not have paislurm's format")],
)
def test_other_scripts_are_reported(text: str, message: str) -> None:
    (remark,) = verify(text, VERSION).diagnostics
    assert message in remark.message


def test_the_runtime_of_another_version_is_not_verified() -> None:
    (remark,) = verify(script(0), "7.0").diagnostics
    assert "paislurm 1.0, and this is 7.0" in remark.message


def test_a_runtime_contains_only_the_requested_parts() -> None:
    assert len(runtime(())) < len(runtime(("slots",))) < len(runtime(tuple(use for use in ALL_USES if use != "podman")))

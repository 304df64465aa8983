"""What `preflight` and `avoidNodes` may be, and which checks and commands a role gets of the job's and the site's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paislurm.translator.app.submit.prepare import retry_policy
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.site.load import load_site

from .jobs import faults, job

SITE = {"check": ["clock"], "command": "check", "pairs": "measure", "timeout": "2m"}


def compiled(slurm: dict[str, Any], **site: object) -> Compiled:
    profile = "name: x\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in site.items())
    return compile_job(job("extras/slurm", slurm), site=load_site(profile, file="site.yaml"))


@pytest.mark.parametrize(
    ("slurm", "words", "seconds"),
    [
        ({}, "", 60),
        ({"preflight": False}, "", 60),
        ({"preflight": True}, "clock command:0 pairs:0", 120),
        ({"preflight": {}}, "clock command:0 pairs:0", 120),
        ({"preflight": {"check": ["disk"], "timeout": "90s"}}, "disk command:0 pairs:0", 90),
        ({"preflight": True, "taskRoles": {"worker": {"preflight": False}}}, "", 60),
        (
            {"taskRoles": {"worker": {"preflight": {"check": ["disk", "gpu", "infiniband"]}}}},
            "disk command:0 pairs:0",
            120,
        ),
    ],
)
def test_keys_of_the_job_override_those_of_the_site(slurm: dict[str, Any], words: str, seconds: int) -> None:
    """A check that does not apply to a role is left out, and a profile alone turns nothing on."""
    found = compiled(slurm, preflight=SITE)
    assert ("PSL_PREFLIGHT[0]=" in found.script) == bool(words)
    assert f"PSL_PREFLIGHT[0]='{words}' " in found.script or not words
    assert (f"PSL_PREFLIGHT_SECONDS={seconds} " in found.script) == (seconds != 60)
    assert ("# ==== node/preflight ====" in found.script) == bool(words)
    assert ("preflight   " in plan_text(found.plan)) == bool(words)


def test_without_a_profile_all_checks_run_that_apply() -> None:
    found = compiled({"preflight": True})
    assert "PSL_PREFLIGHT[0]='disk clock' " in found.script
    assert "==== node/pairs ====" not in found.script


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("preflight", "yes", "expected true, false or a mapping such as `{check: [gpu, disk]}`"),
        ("preflight", {"timeout": 60}, "expected a time such as `60s` or `5m`, at most an hour"),
        ("preflight", {"timeout": "2h"}, "expected a time such as `60s` or `5m`, at most an hour"),
        ("preflight", {"command": " \n"}, "expected commands of bash"),
        ("preflight", {"check": ["ram"]}, "expected `gpu`, `infiniband`, `disk` or `clock`"),
        ("avoidNodes", {"for": 1}, "expected an age such as `12h` or `1d`, at most a year"),
        ("avoidNodes", {"atMost": 0}, "expected a whole number from 1 to 1000"),
    ],
)
def test_other_values_are_errors(key: str, value: object, message: str) -> None:
    (fault,) = faults(job("extras/slurm", {key: value}))
    assert fault.code == "E203"
    assert message in fault.message


@pytest.mark.parametrize(
    ("slurm", "site", "limits"),
    [
        ({}, {}, (0, 0)),
        ({}, {"avoidNodes": {"atMost": 3}}, (86400, 3)),
        ({"avoidNodes": {"for": "2h"}}, {"avoidNodes": {"atMost": 3}}, (7200, 2)),
    ],
)
def test_avoided_nodes_of_the_job_or_the_site(
    slurm: dict[str, Any], site: dict[str, object], limits: tuple[int, int]
) -> None:
    policy = retry_policy(compiled(slurm, **site))
    assert (policy.avoid_s, policy.avoid_most) == limits

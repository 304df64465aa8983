"""The key `progress` of extras.slurm: the stall guard."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.profile import Site
from paislurm.translator.slurm_options import Progress

from .jobs import check, error_codes, faults, job


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({"within": "15m"}, Progress(within=timedelta(minutes=15), warm_up=timedelta(minutes=15), action="report")),
        (
            {"within": "90s", "by": "output", "action": "end", "warmUp": "1h30m"},
            Progress(within=timedelta(seconds=90), warm_up=timedelta(minutes=90), action="end"),
        ),
        (
            {"within": "1h", "by": {"file": "out/*.pt"}},
            Progress(within=timedelta(hours=1), warm_up=timedelta(hours=1), action="report", watched_file="out/*.pt"),
        ),
        (
            {"within": "1h", "by": {"command": "grep -c step 'a b'"}},
            Progress(
                within=timedelta(hours=1),
                warm_up=timedelta(hours=1),
                action="report",
                watched_command="grep -c step 'a b'",
            ),
        ),
    ],
)
def test_stall_guards(written: object, found: Progress) -> None:
    assert check(job("extras/slurm/progress", written)).job.slurm_options.job.progress == found


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ({}, "E202"),
        (True, "E203"),
        ("15m", "E203"),
        ({"within": 15}, "E203"),
        ({"within": "0s"}, "E203"),
        ({"within": "31d"}, "E203"),
        ({"within": "15 min"}, "E203"),
        ({"within": "15m", "by": "log"}, "E203"),
        ({"within": "15m", "by": {}}, "E203"),
        ({"within": "15m", "by": {"file": "a", "command": "b"}}, "E203"),
        ({"within": "15m", "by": {"file": ""}}, "E203"),
        ({"within": "15m", "by": {"command": "a\nb"}}, "E203"),
        ({"within": "15m", "by": {"path": "a"}}, "E201"),
        ({"within": "15m", "action": "kill"}, "E203"),
        ({"within": "15m", "warmup": "1m"}, "E201"),
    ],
)
def test_other_values_are_refused(written: object, code: str) -> None:
    assert error_codes(job("extras/slurm/progress", written)) == [code]


def test_a_number_gets_a_hint() -> None:
    (found,) = faults(job("extras/slurm/progress", {"within": 15}))
    assert found.hint == "write `15m` for minutes"


ROLES = {"within": "1m", "action": "end"}


def compiled(slurm: object) -> tuple[str, list[str | None]]:
    """Return the script of a job with two roles more than the usual one, and the setting of each role."""
    text = job("extras/slurm", slurm)
    role = text[text.index("  worker:") : text.index("extras:")] if "  worker:" in text else ""
    assert role
    text = text.replace(role, role + role.replace("worker", "second") + role.replace("worker", "third"))
    script = compile_job(text, site=Site.of()).script
    head = script[: script.index("# ---- paislurm runtime")].splitlines()
    settings = [line.partition("#")[0].split("=")[1].strip() for line in head if line.startswith("PSL_PROGRESS[")]
    return script, list(settings)


@pytest.mark.parametrize(
    ("roles", "settings"),
    [
        ({"second": {"progress": ROLES}}, ["'900 900 report 0'", "'60 60 end 1'", "'900 900 report 0'"]),
        ({"worker": {"progress": False}}, ["'900 900 report 1'", "'900 900 report 1'"]),
    ],
)
def test_roles_with_the_setting_of_the_job_are_one_group(roles: dict[str, object], settings: list[str]) -> None:
    assert compiled({"progress": {"within": "15m"}, "taskRoles": roles})[1] == settings


def test_a_job_without_a_guard_has_no_part_of_it() -> None:
    plain, _ = compiled({})
    assert plain == compiled({"progress": False})[0]
    assert not [word for word in ("PROGRESS", "stalled") if word in plain]


def test_a_hostile_command_is_one_word_of_the_script() -> None:
    script, _ = compiled({"progress": {"within": "1m", "by": {"command": "'; rm -rf / #$(id)`id`"}}})
    assert "PSL_PROGRESS_COMMAND[0]=''\\''; rm -rf / #$(id)`id`'" in script

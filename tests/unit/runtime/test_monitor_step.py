"""The end of a batch script where the site forbids processes on login nodes: it takes a step of the monitor."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .bash import sourced

SHOW = 'printf "%s\\n" "$PWD" "$@"; env | grep -E "^(SLURM|PSL_|HERE)" | sort; cat'


def ended(
    attempt: Path, code: str, *call: str, env: dict[str, str] | None = None, library: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run bash in an attempt's folder after the runtime; `call` are the words of the call."""
    attempt.mkdir(parents=True)
    (attempt.parents[1] / "monitor-call").write_bytes(b"".join(word.encode() + b"\0" for word in call))
    setup = "PSL_FOLDER='/jobs/alice~it'\\''s mine' PSL_ENTERED=1 PSL_OUTCOME=failed PSL_MONITOR_AFTER=failure"
    return subprocess.run(
        ["bash", "-p", "-c", f"set -u\n{library or sourced()}\n{setup}\n{code}"],
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        cwd=attempt,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("outcome", "after", "wanted"),
    [
        ("failed", "failure", True),
        ("requeued", "failure", True),
        ("succeeded", "failure", False),
        ("succeeded", "end", True),
        ("interrupted", "end", False),
        ("", "end", False),
        ("failed", "", False),
    ],
)
def test_a_monitor_step_runs_after_the_configured_outcomes(
    tmp_path: Path, outcome: str, after: str, wanted: bool
) -> None:
    code = f"PSL_OUTCOME='{outcome}' PSL_MONITOR_AFTER='{after}'; end_script"
    said = ended(tmp_path / "job/attempts/0", code, "echo", "step of")
    assert (said.returncode, said.stdout) == (0, "step of alice~it's mine\n" if wanted else "")


def test_without_the_setting_or_in_manual_runs_no_monitor_step_runs(tmp_path: Path) -> None:
    attempt = tmp_path / "job/attempts/0"
    said = ended(attempt, 'rm ../../monitor-call; end_script; unset PSL_MONITOR_AFTER; end_script; echo "$?"')
    assert (said.stdout, said.stderr) == ("0\n", "")


def test_the_monitor_call_gets_its_arguments_and_no_job_variables(tmp_path: Path) -> None:
    env = {"SLURM_JOB_ID": "7", "SLURM_MEM_PER_NODE": "5", "SLURMD_NODENAME": "n1", "SLURM_CONF": "/c", "HERE": "1"}
    said = ended(tmp_path / "job/attempts/0", "end_script", "A=b c", "sh", "-c", SHOW, "sh", "*", "$HOME", env=env)
    assert said.stdout.splitlines() == ["/", "*", "$HOME", "alice~it's mine", "HERE=1", "SLURM_CONF=/c"]
    assert said.stderr == ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("/nowhere/python", "-m"), "the monitor cannot be started on this node"),
        (("sh", "-c", "kill -KILL $$"), "the monitor was ended"),
        (("sh", "-c", "exit 4"), "the monitor ended with status 4"),
    ],
)
def test_a_failed_monitor_step_is_reported_and_keeps_the_status(
    tmp_path: Path, call: tuple[str, ...], words: str
) -> None:
    said = ended(tmp_path / "job/attempts/0", "trap end_script EXIT; exit 3", *call)
    assert said.returncode == 3
    assert f"paislurm: {words}: cron or scrontab must do the rest" in said.stderr


def test_a_monitor_step_times_out(tmp_path: Path) -> None:
    """TERM is ignored here, as by the shell that leads a job."""
    code = "PSL_MONITOR_SECONDS=1; trap '' TERM; trap end_script EXIT; exit 1"
    library = sourced(PSL_MONITOR_SECONDS="MONITOR_SECONDS")
    said = ended(tmp_path / "job/attempts/0", code, "sh", "-c", "exec sleep 300", library=library)
    assert said.returncode == 1
    assert "the monitor was ended" in said.stderr

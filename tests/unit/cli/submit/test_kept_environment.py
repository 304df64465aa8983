"""A retry has the environment of the shell that submitted the job, whoever submits the retry; then it is forgotten."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cluster.processes import wait_until

from ..running import JOB, PROGRAM, job_file

LOOK = (
    """printf '%s|' "${TOKEN-}" "${OTHER-}" "${MORE-}" "$(type -t module)" "$PAISLURM_SUBMIT_DIR"; """
    """test "$FC_FRAMEWORK_ATTEMPT_ID" = 1"""
)
VALUE = "s3cr3t 'two'\nlines=\" \u00fc"
FIRST = {"TOKEN": VALUE, "MORE": "x" * 130_000, "BASH_FUNC_module%%": "() {  echo my module\n}"}


def paislurm(*words: str, env: Mapping[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program in an environment that has more than that of the tests."""
    return subprocess.run(
        [*PROGRAM, *words], env={**os.environ, **env}, cwd=cwd, capture_output=True, text=True, check=False, timeout=90
    )


@pytest.mark.slow("two attempts of a job")
@pytest.mark.parametrize("monitor", ["{background: false}", "none"])
def test_a_retry_has_the_environment_of_the_submit(tmp_path: Path, monitor: str) -> None:
    """Submitted by who waits in another shell, or by the end of the first attempt."""
    site = tmp_path / "site.yaml"
    site.write_text(f"partitions: {{local: {{}}}}\ndefaultPartition: local\nmonitor: {monitor}\n")
    text = JOB.replace("instances: 2", "instances: 1").replace("echo and bye", LOOK) + "jobRetryCount: 1\n"
    words = ("submit", job_file(tmp_path, text), "--backend", "local", "--site", str(site))
    submitted = paislurm(*words, env=FIRST, cwd=tmp_path)
    waited = paislurm("wait", "demo", env={"TOKEN": "mine", "OTHER": "other"}, cwd=Path("/"))
    assert [done.returncode for done in (submitted, waited)] == [0, 0], submitted.stderr + waited.stderr
    (job,) = Path(os.environ["PAISLURM_HOME"]).glob("jobs/*")
    logs = [(job / f"attempts/{number}/logs/0-worker/0.stdout.log").read_text() for number in (0, 1)]
    assert logs == [f"hello from 0\n{VALUE}||{'x' * 130_000}|function|{tmp_path}|"] * 2
    # The job has ended: its own log is all that still has the value.
    kept = [path for path in job.rglob("*") if path.is_file() and not path.name.endswith("stdout.log")]
    assert len(kept) > 5
    assert [path.name for path in kept if b"s3cr3t" in path.read_bytes()] == []


def test_the_saved_environment_is_private_and_removed_with_the_job_end(tmp_path: Path) -> None:
    """Without a retry nothing is kept."""
    (tmp_path / "never.yaml").write_text("retry: {maxTransientRetries: 0}\nmonitor: {background: false}\n")
    job = job_file(tmp_path, JOB.replace("echo and bye", "exec sleep 60"))
    for name, site in (("kept", []), ("none", ["--site", str(tmp_path / "never.yaml")])):
        home = tmp_path / name
        env = {"PAISLURM_HOME": str(home), "TOKEN": VALUE, "SLURM_QOS": "mine"}
        done = paislurm("submit", job, "--backend", "local", *site, env=env)
        assert done.returncode == 0, done.stderr
        files = list(home.glob("jobs/*/environment"))
        assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * (name == "kept")
        for lines in (file.read_bytes().split(b"\0") for file in files):
            assert f"TOKEN={VALUE}".encode() in lines
            assert [line for line in lines if line.startswith(b"SLURM_QOS")] == []
        assert paislurm("cancel", "demo", env=env).returncode == 0
        paislurm("wait", "demo", env=env)
        # A monitor that is at work writes the end down itself, in its own time.
        wait_until(lambda home=home: not list(home.glob("jobs/*/environment")), "the environment to be gone", 30)

"""A little fuzzing, the same in every run of the tests; `make fuzz` takes its time, and another way each time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for this Python")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SECONDS = os.environ.get("PAISLURM_FUZZ_SECONDS")
BOUNDS = (f"-max_total_time={SECONDS}",) if SECONDS else ("-runs=8000", "-seed=1")


def seeds(folder: Path) -> None:
    """Collect real job files, right ones and wrong ones."""
    found = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/*/**/*.yaml"), *ROOT.glob("tests/*/**/*.json")]
    if published := os.environ.get("PAISLURM_OPENPAI_JOBS"):
        found += [*Path(published).glob("**/*.yaml"), *Path(published).glob("**/*.json")]
    for number, file in enumerate(found):
        shutil.copy(file, folder / f"{number:04d}-{file.name}")


@pytest.mark.timeout(int(SECONDS or 480) + 120)
def test_no_bytes_break_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "found").mkdir()
    seeds(tmp_path / "seeds")
    options = (
        *BOUNDS,
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-max_len=20000",
        "-print_final_stats=1",
        f"-dict={HERE / 'job.dict'}",
        f"-artifact_prefix={tmp_path}/",
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.compile", *options, str(tmp_path / "found"), str(tmp_path / "seeds")],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=int(SECONDS or 480) + 60,
    )
    breaking = [*tmp_path.glob("crash-*"), *tmp_path.glob("timeout-*"), *tmp_path.glob("oom-*")]
    assert not breaking, f"{breaking[0].read_bytes()!r}\n{done.stderr[-6000:]}"
    assert done.returncode == 0, done.stderr[-6000:]
    assert "stat::number_of_executed_units" in done.stderr

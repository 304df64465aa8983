"""Compiled modules are kept in the user's cache where Python does not keep them beside the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paislurm

START = "from paislurm.translator.cli.start import run; run()"


@pytest.mark.parametrize("private", [True, False])
def test_what_may_not_be_beside_the_program_is_in_a_cache_of_the_users_alone(tmp_path: Path, private: bool) -> None:
    package, cache = tmp_path / "lib" / "paislurm", tmp_path / "cache"
    shutil.copytree(Path(paislurm.__path__[0]), package, ignore=shutil.ignore_patterns("__pycache__"))
    cache.mkdir()
    cache.chmod(0o700 if private else 0o777)
    path = os.pathsep.join([str(package.parent), *filter(None, sys.path)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(cache)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-S", "-c", START, "--version"], env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert list(package.glob("**/*.pyc")) == []
    kept = {file.name.partition(".")[0] for file in cache.glob("paislurm/modules/**/*.pyc")}
    assert ("command_group" in kept) is private
    assert bool(list(cache.iterdir())) is private

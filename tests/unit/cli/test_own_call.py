"""The program calls itself by its own modules, whatever is in the current folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paislurm.translator.app.session import own_call


@pytest.mark.parametrize("name", ["paislurm", "json", "sitecustomize"])
def test_code_in_the_current_folder_is_not_run(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('this is code of another')\n", encoding="utf-8")
    done = subprocess.run([*own_call(), "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:9]) == (0, "paislurm "), done.stderr


def test_the_call_works_with_pythonsafepath(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [*own_call(), "--version"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

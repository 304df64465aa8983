"""`make demo` finds a Python, or says in a sentence what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENV = ROOT / "install" / "venv.sh"


def python(folder: Path, name: str, text: str) -> str:
    """Write a program that stands for a Python that this machine does not have."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exit 127", "python does not run"),
        ("[[ $3 == *print* ]] && echo 3.6.8 || exit 1", "python is Python 3.6.8, which is too old"),
        (
            "[[ $3 == *print* ]] && echo 3.11.2; [[ $3 != *ensurepip* ]]",
            "python (Python 3.11.2) lacks the module venv or ensurepip, which Debian has in python3-venv",
        ),
    ],
)
def test_an_unsuitable_python_is_reported_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    argv = [str(VENV), str(tmp_path / "venv"), python(tmp_path, "python", text)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert says in done.stderr
    assert "make demo PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_suitable_python_is_used(tmp_path: Path) -> None:
    makes_folder = 'mkdir -p "$4/bin"; echo "$@" >"$4/made"; ln -s /bin/true "$4/bin/pip"'
    venv = python(tmp_path, "python", f'[[ $2 == -m ]] || exec "{sys.executable}" "$@"; {makes_folder}')
    subprocess.run([str(VENV), str(tmp_path / "a venv"), venv], check=True)
    assert (tmp_path / "a venv" / "made").read_text(encoding="utf-8") == f"-I -m venv {tmp_path}/a venv\n"


@pytest.mark.parametrize("script", sorted(VENV.parent.glob("*.sh")), ids=lambda path: path.name)
def test_the_script_passes_shellcheck(script: Path) -> None:
    argv = [str(Path(sys.executable).with_name("shellcheck")), str(script)]
    assert subprocess.run(argv, capture_output=True, text=True, check=False).stdout == ""

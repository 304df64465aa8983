"""Scripts of all job files: bash and shellcheck are content with them, and the same file gives the same bytes.

What is the same in all scripts, `make check` reads once; here the golden ones are read whole.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.runtime_bundle import SEAL
from tests.example_jobs import EXAMPLES
from tests.left_out import NO_PUBLISHED_JOBS, not_asked
from tests.needs import starts_in_c

from .lint import complaints, whole_complaints
from .remake import CASES, whole_script

FOLDER = os.environ.get("PAISLURM_OPENPAI_JOBS")
PUBLISHED = sorted([*Path(FOLDER).glob("v2/*.yaml"), *Path(FOLDER).glob("v1/*.json")]) if FOLDER else []
COMPILE = """\
import os, sys
from paislurm.translator.cli.main import main
words = sys.argv[1:]
while words:
    folder, file, site, *words = words
    os.chdir(folder)
    if main(["script", file, *(["--site", site] if site else [])]):
        sys.exit(f"{folder}: no script")
"""


def test_bash_and_shellcheck_errors_are_reported() -> None:
    case = CASES[0].folder / "job.sbatch"
    bad = case.read_text(encoding="utf-8").replace("PSL_JOB_NAME=", "PSL_JOB_NAME=$(ls) $x ")
    assert "SC" in complaints({"bad.sbatch": bad})
    assert "syntax error" in complaints({"worse.sbatch": "if\n"})


def script_of(file: Path) -> str:
    """Return the script of a job file, "" for one that is refused because of faults of its own."""
    try:
        return compile_job(file.read_bytes(), file=file.name).script
    except ProtocolError:
        return ""


@pytest.mark.slow("shellcheck reads the scripts of all examples")
@pytest.mark.parametrize("folder", [pytest.param("examples"), pytest.param("published")])
def test_all_scripts_pass_bash_and_shellcheck(folder: str) -> None:
    if folder == "published" and not PUBLISHED:
        not_asked(NO_PUBLISHED_JOBS)
    files = EXAMPLES if folder == "examples" else PUBLISHED
    scripts = {f"{file.stem}.sbatch": script for file in files if (script := script_of(file))}
    assert len(scripts) >= len(files) - 2
    assert complaints(scripts) == ""


@pytest.mark.slow("shellcheck takes seconds for a whole script")
def test_complete_scripts_pass_bash_and_shellcheck() -> None:
    """Of scripts with the same parts of the runtime one is enough; `make check` reads those of containers."""
    cases = [case for case in CASES if case.folder.parent.name != "containers"]
    by_parts = {whole_script(case).partition(SEAL)[2].partition("\n")[0]: case for case in cases}
    scripts = {f"{case.name.replace('/', '-')}.sbatch": whole_script(case) for case in by_parts.values()}
    assert whole_complaints(scripts, flow=False) == ""


def test_an_unused_variable_is_reported() -> None:
    script = whole_script(CASES[0]).replace("PSL_JOB_NAME=", "PSL_OF_NO_USE=1 PSL_JOB_NAME=", 1)
    assert "PSL_OF_NO_USE appears unused" in complaints({"unused.sbatch": script})


@pytest.mark.skipif(not starts_in_c(), reason="Python does not start from this folder with LC_ALL=C")
def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    """In two folders, by two users, in two languages, with two hash seeds."""
    surroundings = (
        {"USER": "ann", "LC_ALL": "C", "PYTHONHASHSEED": "1", "TZ": "UTC", "HOME": str(tmp_path / "ann")},
        {"USER": "bob", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "HOME": str(tmp_path / "bob")},
    )
    scripts = []
    for environment in surroundings:
        words = []
        for case in CASES:
            folder = tmp_path / environment["USER"] / "deep" / case.name
            folder.mkdir(parents=True)
            shutil.copy(case.job, folder)
            (folder / "site.yaml").write_text(case.site)
            words += [str(folder), case.job.name, "site.yaml" if case.site else ""]
        done = subprocess.run(
            [sys.executable, "-c", COMPILE, *words],
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        scripts.append(done.stdout)
    assert scripts[0] == scripts[1]
    assert scripts[0].count(b"\n# ---- paislurm runtime ") == len(CASES)

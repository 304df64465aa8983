"""The package as users install it: a wheel in a clean environment, with hostile folders in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("builds the package, and an environment for it")
ROOT = Path(__file__).parents[2]
NEEDED = (
    "templates/job.sbatch.j2",
    "templates/runtime/batch/main.sh",
    "templates/report/job.html.j2",
    "translator/exit_codes/table.yaml",
    "backends/slurm_emulator/srun.py",
)


@pytest.fixture(scope="module")
def dists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(argv, check=True, capture_output=True, timeout=120)
    return folder


def test_wheel_and_sdist_are_complete_without_extra_top_level_files(dists: Path) -> None:
    (wheel,) = dists.glob("*.whl")
    (sdist,) = dists.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"paislurm"}
    assert {f"paislurm/{name}" for name in NEEDED} <= set(names)
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert {f"src/paislurm/{name}" for name in NEEDED} <= members


def test_the_wheel_works_despite_hostile_folders(dists: Path, tmp_path: Path) -> None:
    (wheel,) = dists.glob("*.whl")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    site_packages = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    zipfile.ZipFile(wheel).extractall(site_packages)
    # What the program depends on comes from the environment that runs the tests, its editable paislurm does not.
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "paislurm" not in entry.name and entry.suffix != ".pth":
            (site_packages / entry.name).symlink_to(entry)
    hostile = tmp_path / "hostile"
    for name in ("translator", "templates", "backends", "protocol", "cli", "errors", "job"):
        (hostile / name).mkdir(parents=True)
        (hostile / name / "__init__.py").write_text("raise SystemExit('hostile')\n")
    job = tmp_path / "job.yaml"
    job.write_bytes((ROOT / "examples" / "hello-world.yaml").read_bytes())
    done = subprocess.run(
        [python, "-m", "paislurm.translator.cli.main", "script", str(job)],
        cwd=hostile,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(hostile), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#!/bin/bash -p\n")
    assert "\n#SBATCH --job-name=hello-world\n" in done.stdout
    where = [python, "-c", "import paislurm.translator; print(paislurm.translator.__file__)"]
    found = subprocess.run(where, cwd=hostile, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(environment))

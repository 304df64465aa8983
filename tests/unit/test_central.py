"""Install centrally, without a network: wheels with pinned hashes, a version beside another, a module file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.needs import unshare

pytestmark = [pytest.mark.slow("builds wheels and two environments"), pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]


def install(*argv: str | Path, alone: bool = True, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script, `alone` where it reaches no network."""
    script, *others = argv
    if alone and not unshare("--net"):
        pytest.skip("needs a namespace of networks")
    words = [*(unshare("--net") if alone else []), str(ROOT / "install" / script), *map(str, others)]
    env = {**os.environ, "EXTRAS": "ssh"}
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=env, cwd=cwd)


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the wheels, once."""
    folder = tmp_path_factory.mktemp("wheels") / "wheelhouse"
    done = install("wheelhouse.sh", folder, alone=False)
    assert done.returncode == 0, done.stderr
    return folder


def other_version(wheelhouse: Path, folder: Path, version: str) -> Path:
    """Return the wheels with another version of the program, as its wheel has it."""
    shutil.copytree(wheelhouse, folder)
    (wheel,) = folder.glob("paislurm-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "in")
    (info,) = (folder / "in").glob("*.dist-info")
    old = re.fullmatch(r"paislurm-(.*)\.dist-info", info.name)
    assert old
    for file in (info / "METADATA", folder / "in" / "paislurm" / "__init__.py"):
        file.write_text(file.read_text().replace(old[1], version))
    info.rename(info.with_name(f"paislurm-{version}.dist-info"))
    record = folder / "in" / f"paislurm-{version}.dist-info" / "RECORD"
    lines = record.read_text().replace(f"paislurm-{old[1]}.dist-info", f"paislurm-{version}.dist-info").splitlines()
    record.write_text("".join(re.sub(r",sha256=.*", ",,", line) + "\n" for line in lines))
    wheel.unlink()
    archive = shutil.make_archive(str(folder / "new"), "zip", folder / "in")
    made = Path(archive).rename(folder / wheel.name.replace(old[1], version))
    shutil.rmtree(folder / "in")
    digest = subprocess.run(["sha256sum", made], capture_output=True, text=True, check=True).stdout.split()[0]
    pins = (folder / "requirements.txt").read_text()
    new = f"paislurm=={version} --hash=sha256:{digest}"
    (folder / "requirements.txt").write_text(re.sub(r"paislurm==.*", new, pins))
    return folder


def test_each_wheel_is_pinned_by_hash(wheelhouse: Path) -> None:
    pins = (wheelhouse / "requirements.txt").read_text().splitlines()
    assert len(pins) == len(list(wheelhouse.glob("*.whl")))
    assert all(re.fullmatch(r"[A-Za-z0-9_.]+==\S+ --hash=sha256:[0-9a-f]{64}", pin) for pin in pins)
    names = {pin.partition("==")[0] for pin in pins}
    assert {"paislurm", "click", "jinja2", "msgspec", "pydantic", "pyyaml", "rich", "fabric"} <= names
    assert install("wheelhouse.sh", wheelhouse, alone=False).stderr.endswith("name a new folder\n")


def test_versions_are_installed_side_by_side_without_a_network(wheelhouse: Path, tmp_path: Path) -> None:
    """Nothing of the current folder takes part, nor do other modules that a user has: PYTHONPATH names both."""
    hostile = tmp_path / "hostile"
    for name in ("paislurm", "venv", "ensurepip", "click"):
        (hostile / name).mkdir(parents=True)
        (hostile / name / "__init__.py").write_text("raise SystemExit('this is code of another')\n")
    done = install("central.sh", tmp_path / "opt", wheelhouse, cwd=hostile)
    assert done.returncode == 0, done.stderr
    (program,) = (tmp_path / "opt").glob("*/program/paislurm")
    version = program.parents[1].name
    assert f"paislurm {version} is in {tmp_path}/opt/{version}" in done.stdout
    assert [each.name for each in program.parent.iterdir()] == ["paislurm"]
    again = install("central.sh", tmp_path / "opt", wheelhouse)
    assert again.returncode == 1
    assert "is there already, and jobs may use it" in again.stderr

    newer = other_version(wheelhouse, tmp_path / "newer", "9.9.9")
    done = install("central.sh", tmp_path / "opt", newer)
    assert done.returncode == 0, done.stderr
    for number in (version, "9.9.9"):
        said = subprocess.run(
            [*unshare("--net"), str(tmp_path / "opt" / number / "program" / "paislurm"), "--version"],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": f"{hostile}:"},
            cwd=hostile,
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout == f"paislurm {number}\n"
    writable = [path for path in (tmp_path / "opt").rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]
    assert writable == []
    modules = tmp_path / "opt" / "modulefiles" / "paislurm"
    assert f'"{tmp_path}/opt/{version}/program"' in (modules / version).read_text()
    assert '"9.9.9"' in (modules / ".version").read_text()
    if modulecmd := shutil.which("modulecmd"):
        loads = f'eval "$({modulecmd} bash load paislurm)"; paislurm --version; type -P python3'
        said = subprocess.run(
            ["bash", "-c", loads],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MODULEPATH": str(modules.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.splitlines() == ["paislurm 9.9.9", "/usr/bin/python3"]
        # As the guide says to uninstall: without its default the highest version that is left is loaded.
        for gone in ("9.9.9", ".version"):
            (modules / gone).unlink()
        said = subprocess.run(
            ["bash", "-c", loads],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MODULEPATH": str(modules.parent)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said.stdout.splitlines()[0] == f"paislurm {version}"


@pytest.mark.parametrize("script", ["central.sh", "wheelhouse.sh", "venv.sh"])
@pytest.mark.parametrize("words", [(), ("a", "b", "c")])
def test_a_wrong_call_prints_the_usage(script: str, words: tuple[str, ...]) -> None:
    done = install(script, *words, alone=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: install/{script} ")
    assert not Path("a").exists()


def test_a_folder_writable_by_others_gets_a_warning(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    done = install("central.sh", tmp_path, tmp_path, alone=False)
    assert f"others than its owner can write to {tmp_path}" in done.stderr
    tmp_path.chmod(0o755)
    assert "warning" not in install("central.sh", tmp_path, tmp_path, alone=False).stderr


def test_a_wheel_with_another_hash_is_not_installed(wheelhouse: Path, tmp_path: Path) -> None:
    shutil.copytree(wheelhouse, tmp_path / "wheels")
    (click,) = (tmp_path / "wheels").glob("click-*.whl")
    with click.open("ab") as file:
        file.write(b"more")
    done = install("central.sh", tmp_path / "opt", tmp_path / "wheels")
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
    assert list((tmp_path / "opt").iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "words"), [("a b", "without blanks and quotes"), ("opt", "is no folder that install/wheelhouse.sh made")]
)
def test_an_unsuitable_folder_is_refused(tmp_path: Path, folder: str, words: str) -> None:
    done = install("central.sh", tmp_path / folder, tmp_path)
    assert done.returncode == 1
    assert words in done.stderr

"""What commands write cannot be changed by others, whatever umask, default ACL and links wait for them."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.backends.ssh.openssh import _fault
from paislurm.translator.app.paths import write_output
from paislurm.translator.app.sites.detecting import write_profile
from paislurm.translator.files.private import OTHERS_WRITE, write_durably

from ..cli.running import JOB, SITE, job_file

PROGRAM = (sys.executable, "-m", "paislurm.translator.cli.main")
UMASKS = [0o000, 0o002, 0o077]
ACL = (0x01, 7, -1), (0x02, 7, 65534), (0x04, 7, -1), (0x10, 7, -1), (0x20, 7, -1)
"""A default ACL that opens all to all: tag, permissions and id of each entry. Source: linux/posix_acl_xattr.h."""
FILES, NAMES = ("job", "failing", "sleeping"), ("demo", "failing", "sleeping")
USES = (
    ("submit", "job.yaml", "--backend", "local", "--wait"),
    ("submit", "failing.yaml", "--backend", "local", "--wait"),
    ("submit", "sleeping.yaml", "--backend", "local"),
    ("status", "demo"),
    ("list",),
    ("cancel", "sleeping"),
    ("wait", "sleeping"),
    ("report", "demo"),
    ("script", "job.yaml", "-o", "deep.sbatch"),
    ("nodes",),
    ("monitor", "--once"),
    ("list", "--columns", "name,size"),
    ("submit", "job.yaml", "--backend", "local", "--wait"),
)


@pytest.fixture(params=UMASKS, ids=lambda mask: f"{mask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_all(folder: Path) -> None:
    """Let each new file of a folder be writable by all, as far as its mode permits that."""
    rows = (struct.pack("<HHi", *each) for each in ACL)
    os.setxattr(folder, "system.posix_acl_default", struct.pack("<I", 2) + b"".join(rows))


def changeable(folder: Path) -> list[str]:
    """Return what others can write to below a folder, with its mode."""
    found = ((path, path.lstat().st_mode) for path in folder.rglob("*") if not path.is_symlink())
    return sorted(f"{path.relative_to(folder)} {mode & 0o7777:04o}" for path, mode in found if mode & OTHERS_WRITE)


@pytest.mark.parametrize("acl", [False, True], ids=["no-acl", "default-acl"])
def test_others_can_change_nothing_that_a_command_writes(tmp_path: Path, umask: int, acl: bool) -> None:
    here = tmp_path / "here"
    here.mkdir(mode=0o755)
    if acl:
        open_to_all(here)
        # As an earlier version left them.
        (here / "missing" / "parents" / "jobs").mkdir(mode=0o700, parents=True)
        (here / "missing").chmod(0o700)
        (here / "missing" / "parents").chmod(0o700)
    for file, name, command in zip(FILES, NAMES, ("true", "exit 3", "sleep 60"), strict=True):
        text = JOB.replace("name: demo", f"name: {name}") + f"      - {command}\n"
        Path(job_file(here, text, f"{file}.yaml")).chmod(0o644)
    (here / "site.yaml").write_text(SITE)
    (here / "site.yaml").chmod(0o644)
    environment = {
        **os.environ,
        "PAISLURM_HOME": str(here / "missing" / "parents"),
        "PAISLURM_SITE": str(here / "site.yaml"),
    }
    for words in USES:
        done = subprocess.run(
            [*PROGRAM, *words], cwd=here, env=environment, umask=umask, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr, (words, done.stderr)
        assert changeable(here) == [], words


def test_profiles_and_folders_of_sockets_are_private(tmp_path: Path, umask: int) -> None:  # noqa: ARG001
    write_profile(tmp_path / "config" / "paislurm" / "site.yaml", "name: a\n", force=False)
    open_to_all(tmp_path / "config")
    write_profile(tmp_path / "config" / "site.yaml", "name: a\n", force=False)
    assert os.getxattr(tmp_path / "config", "system.posix_acl_default"), "the ACL of another's folder stays"
    assert _fault(tmp_path / "home" / ".ssh" / "paislurm-node") == ""
    assert changeable(tmp_path) == []
    assert (tmp_path / "home" / ".ssh").stat().st_mode & 0o777 == 0o700


def test_the_old_profile_is_not_kept_through_a_link(tmp_path: Path) -> None:
    victim, profile = tmp_path / "victim", tmp_path / "site.yaml"
    victim.write_text("precious")
    profile.write_text("name: mine\n")
    (tmp_path / "site.yaml.old").symlink_to(victim)
    done = write_profile(profile, "name: new\n", force=True)
    assert (done.written, victim.read_text()) == (True, "precious")
    assert Path(done.kept_as).read_text() == "name: mine\n"


def test_a_file_has_its_mode_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever puts a file of another user in the place of the name has no mode of that file changed."""
    private, replace = tmp_path / "private", Path.replace
    private.write_text("secret")
    private.chmod(0o600)

    def replaced(new: Path, target: Path) -> Path:
        found = replace(new, target)
        target.unlink()
        os.link(private, target)
        return found

    monkeypatch.setattr(Path, "replace", replaced)
    write_output(tmp_path / "out", b"text", 0o644)
    assert private.stat().st_mode & 0o777 == 0o600


def test_a_file_with_a_known_name_is_not_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, report, is_symlink = tmp_path / "victim", tmp_path / "report.html", Path.is_symlink
    victim.write_text("precious")

    def planted(path: Path) -> bool:
        """Plant a link as soon as it was looked for."""
        found = is_symlink(path)
        if path == report and not found:
            report.symlink_to(victim)
        return found

    monkeypatch.setattr(Path, "is_symlink", planted)
    write_output(report, b"page", is_named=False)
    assert (victim.read_text(), report.read_text()) == ("precious", "page")


def test_a_durable_file_replaces_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    write_durably(tmp_path / "file", b"new")
    assert [(tmp_path / name).read_text() for name in ("victim", "file")] == ["precious", "new"]

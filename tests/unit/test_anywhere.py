"""`make test` where it is typed: as root without the rights that containers take away, and by an ordinary user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.trees import CACHE

pytestmark = [
    pytest.mark.root("to be somebody with less rights"),
    pytest.mark.slow("runs other tests once more"),
    pytest.mark.timeout(1500),
]
ROOT = Path(__file__).parents[2]
IN_A_CONTAINER = ["setpriv", "--bounding-set=-sys_admin,-net_admin", "--inh-caps=-sys_admin,-net_admin"]
READS_ALL = "+dac_read_search"
ORDINARY_USER = [
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={READS_ALL}",
    f"--ambient-caps={READS_ALL}",
]  # fmt: skip
"""An ordinary user, who reads the checkout wherever root has it."""
HOSTILE_SHELL = 'chown 65534 "$HOME"; mount -t tmpfs -o noexec none "$TMPDIR"; umask 077; "$@"'
FAST = (
    "app/compiler/test_template_cache.py", "cli/test_trust.py", "report/test_page.py", "runtime/test_another_user.py",
    "runtime/test_containers.py", "runtime/test_names.py", "state", "test_convert.py", "test_install.py",
)  # fmt: skip
SLOW = ("tests/unit/test_central.py", "tests/simulation/test_script_model.py")
"""The tests that need root, other users, special files or namespaces."""


def make_test(folder: Path, who: list[str], *words: str, **more: str) -> str:
    """Do what `make test` does after its checks, with these words for pytest; return what it prints.

    Only the clusters boot that these tests need.
    """
    folder.mkdir()
    own = {name: text for name, text in os.environ.items() if not name.startswith(("PAISLURM_", "PYTEST_", "XDG_"))}
    env = {**own, "HOME": str(folder), "HYPOTHESIS_STORAGE_DIRECTORY": f"{folder}/found", **more}
    argv = [*who, sys.executable, "-m", "tests.tally", "-q", "-o", f"cache_dir={folder}/cache", *words]
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]
    return done.stdout


def test_root_of_a_container_passes_what_needs_rights(tmp_path: Path) -> None:
    said = make_test(
        tmp_path / "home", IN_A_CONTAINER, "-n2", "-m", "not slow", *(f"tests/unit/{name}" for name in FAST)
    )
    assert "\npassed; NOT run here: " in said, said
    make_test(tmp_path / "slow", IN_A_CONTAINER, *SLOW)


def test_an_ordinary_user_passes_what_can_run(tmp_path: Path) -> None:
    """A Slurm, too, whose packages are kept for the next time."""
    (tmp_path / "tmp").mkdir()
    cache = CACHE / "user-65534"
    cache.mkdir(parents=True, exist_ok=True)
    os.chown(cache, 65534, 65534)
    who = ["unshare", "--mount", "sh", "-c", HOSTILE_SHELL, "sh", *ORDINARY_USER]
    tests = ["tests/unit/test_install.py", "tests/contract/test_ends.py", "-k", "test_install or own"]
    said = make_test(tmp_path / "home", who, *tests, TMPDIR=str(tmp_path / "tmp"), XDG_CACHE_HOME=str(cache))
    last = r"\npassed; NOT run here: 3 of .*\n  needs root and namespaces, for nodes that can be taken away: 3 tests\n$"
    assert re.search(last, said), said

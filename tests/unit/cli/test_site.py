"""`site`: what is printed of profiles, and the exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paislurm.translator.app.sites import ask as ask_module

from ..site.detection.answered import EXPECTED, recorded
from .running import JOB, SITE, Runner, job_file

LARGE = JOB.replace("cpu: 1", "cpu: 17").replace("name: demo", "name: large")


WRONG = JOB.replace("type: job", "type: jab")


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a Slurm in place that answers as recorded."""
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("22.05"))


@pytest.fixture
def detected(tmp_path: Path) -> str:
    """Write the profile that was detected; return its path."""
    return job_file(tmp_path, EXPECTED.read_text(encoding="utf-8"), "detected.yaml")


@pytest.mark.usefixtures("silent")
def test_each_file_prints_a_line_and_the_exit_code_covers_all(run: Runner, tmp_path: Path, detected: str) -> None:
    texts = (("small", JOB), ("large", LARGE), ("wrong", WRONG))
    small, large, wrong = (job_file(tmp_path, text, f"{name}.yaml") for name, text in texts)
    starts = f"{small}: 1 node, 2 CPUs of normal"
    can_not = f"{large}: cannot start here: E410"
    for files, code, lines in (
        ([small], 0, [starts]),
        ([small, large], 4, [starts, can_not]),
        ([large, wrong, small], 3, [can_not, f"{wrong}: the job file is wrong", starts]),
    ):
        said = run("site", "check", "--site", detected, *files)
        assert (said.code, said.out.splitlines()) == (code, lines)
        assert ("error E410: role worker can never start" in said.err) == (large in files)
    run("site", "check", "--site", detected, str(tmp_path / "none.yaml")).ends(3, "error E100")


def test_an_outdated_profile_is_reported(run: Runner, detected: str, tmp_path: Path) -> None:
    said = run("site", "check", "--site", detected)
    assert (said.code, said.out) == (0, f"{detected}: is valid and agrees with the cluster\n")
    text = EXPECTED.read_text(encoding="utf-8").replace("research", "reserch")
    old = job_file(tmp_path, text, "old.yaml")
    said = run("site", "check", "--site", old)
    assert said.out == f"{old}: differs from the cluster in 2 places\n"
    line = text.splitlines().index("defaultAccount: reserch") + 1
    told = f"{old}:{line}:17  $.defaultAccount\nerror E465: the cluster has no account 'reserch'"
    said.ends(4, told, "hint: did you mean `research`?")


def test_the_profile_is_readable_by_all(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "new" / "site.yaml"
    said = run("site", "detect", "--output", str(file))
    assert (said.code, said.out, said.err) == (0, "", f"wrote {file}\n")
    assert file.stat().st_mode & 0o777 == 0o644
    again = run("site", "detect", "--output", str(file))
    assert (again.code, again.out, again.err) == (0, "", f"{file} agrees with Slurm's configuration\n")


def test_site_show_lists_the_location_of_each_setting(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(SITE + "time: {default: 1:30:00}\nlogs: {oneFilePerTask: true}\n", encoding="utf-8")
    said = run("site", "show", "--site", str(file))
    rows = [re.split("  +", line) for line in said.out.splitlines()]
    for row in (
        ["partitions.batch.nodes[0]", "named", f"{file}:2", "{count: 4, cpus: 16, memoryMB: 100000}"],
        ["time.default", "named", f"{file}:5", "1:30:00"],
        ["logs.oneFilePerTask", "named", f"{file}:6", "true"],
        ["time.warning", "default", "120"],
        ["address", "default", "getent"],
        ["monitor.background", "named", f"{file}:4", "false"],
    ):
        assert row in rows
    assert said.err == f"the profile is {file}, named by --site\n"

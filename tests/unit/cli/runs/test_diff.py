"""`diff`: what differs between two jobs, as its exit code says, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.app.runs.differences import Compared, differences, plan_lines
from paislurm.translator.cli.commands.compiler import diff as diff_module
from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FakeBackend
from ..running import job_file
from .test_recording import WITH_PARAMETERS

if TYPE_CHECKING:
    from ..running import Runner

USES_LR = WITH_PARAMETERS.replace("echo and bye", "echo <% $parameters.lr %>")


@pytest.fixture
def two(run: Runner, slurm: FakeBackend, profile: Path, demo: JobFolder, tmp_path: Path) -> JobFolder:
    """Submit a job twice under two names, and with other values; return the folder of the first."""
    assert slurm
    assert profile
    job = job_file(tmp_path, USES_LR)
    assert run("submit", job).code == 0
    assert run("submit", job, "--suffix", "-2", "--set", "lr=0.2").code == 0
    return demo


def test_two_jobs_are_compared(run: Runner, two: JobFolder) -> None:
    said = run("diff", "demo", "demo-2")
    assert said.code == 1
    assert f"--- {two.name}: parameters\n+++ {two.name}-2: parameters\n-lr: 0.1\n+lr: 0.2\n" in said.out
    assert "-job: demo\n+job: demo-2\n" in said.out
    assert "\n-echo 0.1\n+echo 0.2\n" in said.out
    assert "epochs" not in said.out
    assert ": runtime" not in said.out
    document = json.loads(run("diff", "demo", "demo-2", "--json").out)
    assert (document["same"], document["compared"]) == (False, [two.name, f"{two.name}-2"])
    assert "+lr: 0.2\n" in document["parameter_difference"]


def test_equal_jobs_have_no_differences(run: Runner, two: JobFolder, tmp_path: Path) -> None:
    assert two
    for other in ("demo", str(tmp_path / "job.yaml")):
        said = run("diff", "demo", other)
        assert (said.code, said.out) == (0, "")
    assert json.loads(run("diff", "demo", "demo", "--json").out)["same"] is True


def test_a_file_is_compiled_with_the_options_of_the_job(run: Runner, two: JobFolder, tmp_path: Path) -> None:
    file = job_file(tmp_path, USES_LR.replace("instances: 2", "instances: 3"))
    said = run("diff", "demo-2", file)
    assert said.code == 1
    assert f"--- {two.name}-2: plan\n+++ {file}: plan\n" in said.out
    assert {"-roles.worker.instances: 2", "+roles.worker.instances: 3"} <= set(said.out.splitlines())
    assert "lr" not in said.out


def test_jobs_or_files_that_cannot_be_compared_exit_with_2(run: Runner, two: JobFolder, tmp_path: Path) -> None:
    assert run("diff", "demo", "none").code == 2
    assert run("diff", "none", "demo").code == 2
    assert run("diff", "demo", job_file(tmp_path, "name: [", name="wrong.yaml")).code == 2
    (two.path / "plan.json").write_text("[]", encoding="utf-8")
    said = run("diff", "demo", "demo-2")
    assert (said.code, said.out) == (2, "")
    assert "error E579: cannot compare the recorded" in said.err
    (two.path / "plan.json").unlink()
    assert run("diff", "demo-2", "demo", "--json").code == 2


def test_without_parameters_the_rest_is_compared(run: Runner, two: JobFolder) -> None:
    lines = two.journal.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    two.journal.write_text("\n".join([json.dumps({**first, "run": None}), *lines[1:]]) + "\n", encoding="utf-8")
    said = run("diff", "demo", "demo-2")
    assert said.code == 1
    assert "parameters are not compared" in said.err
    assert ": plan\n" in said.out


def side(**values: Any) -> Compared:
    return Compared(**{"name": "a", "parameters": {}, "plan": {}, "script": "", **values})


def test_a_different_runtime_is_one_line() -> None:
    scripts = [f"head\n# ---- paislurm runtime {version}, sha256 1 ----\n{version}\n" for version in ("1", "2")]
    found = differences(side(script=scripts[0]), side(script=scripts[1]))
    assert (found.script_difference, found.plan_difference, found.parameter_difference) == (None, None, None)
    assert found.runtime_difference
    lines = found.runtime_difference.splitlines()[2:]
    assert lines == ["-paislurm runtime 1, sha256 1", "+paislurm runtime 2, sha256 1"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_lines_of_any_plan_are_printable(plan: dict[str, Any]) -> None:
    lines = [*plan_lines(plan)]
    assert all(line.isprintable() for line in lines)
    assert differences(side(plan=plan), side(plan=plan)).texts == ()


def test_only_terminals_get_colours(run: Runner, two: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert two
    assert "\x1b" not in run("diff", "demo", "demo-2").out
    monkeypatch.setattr(diff_module, "colourful", lambda _: True)
    out = run("diff", "demo", "demo-2").out
    assert "\x1b[31m-lr: 0.1\x1b[0m\n\x1b[32m+lr: 0.2\x1b[0m\n" in out
    assert f"\x1b[1m--- {two.name}: parameters\x1b[0m\n" in out

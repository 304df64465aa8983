"""`check`, `plan` and `script`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import paislurm
from paislurm.translator.cli.masking import kept_text
from paislurm.translator.cli.sites import local_site
from paislurm.translator.cli.syntax import syntax_faults
from paislurm.translator.errors import PlanError
from paislurm.translator.protocol.read import read

from .running import JOB, SITE, job_file

if TYPE_CHECKING:
    from pathlib import Path

    from .running import Runner


def test_a_good_file(run: Runner, tmp_path: Path, profile: Path) -> None:
    assert profile
    said = run("check", job_file(tmp_path))
    assert said.code == 0
    assert "job demo can be submitted" in said.out
    assert "hint: no site profile" not in said.err
    assert json.loads(run("check", job_file(tmp_path), "--json").out)["job"] == "demo"


def test_without_a_profile_there_is_one_hint(run: Runner, tmp_path: Path) -> None:
    assert run("check", job_file(tmp_path)).err.count("no site profile") == 1
    # It would not help with a file that is wrong.
    assert "no site profile" not in run("check", job_file(tmp_path, JOB.replace("type: job", "type: jab"))).err


def test_profiles_in_their_order(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_file(tmp_path, JOB.replace("type: job", "type: job\ndefaults: {virtualCluster: gpu}"))

    def partition(*options: str) -> str:
        script = run("script", job, *options).out
        return next((line for line in script.splitlines() if line.startswith("#SBATCH --partition")), "")

    def write(path: Path, name: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"virtualClusters: {{gpu: {{partition: {name}}}}}\n", encoding="utf-8")
        return path

    assert partition() == ""
    write(tmp_path / "etc" / "site.yaml", "system")
    assert partition() == "#SBATCH --partition=system"
    write(tmp_path / "config" / "paislurm" / "site.yaml", "user")
    assert partition() == "#SBATCH --partition=user"
    monkeypatch.setenv("PAISLURM_SITE", str(write(tmp_path / "variable.yaml", "variable")))
    assert partition() == "#SBATCH --partition=variable"
    assert partition("--site", str(write(tmp_path / "option.yaml", "option"))) == "#SBATCH --partition=option"


def test_a_wrong_file_is_3_with_all_its_faults(run: Runner, tmp_path: Path) -> None:
    job = job_file(tmp_path, JOB.replace("instances: 2", "instances: two").replace("cpu: 1", "cpu: x"))
    said = run("check", job, "--json")
    assert said.code == 3
    faults = json.loads(said.out)["faults"]
    assert [fault["line"] for fault in faults] == [8, 11]
    assert said.err.count("error E") == 2


def test_a_job_that_the_site_cannot_run_is_4_with_its_line(run: Runner, tmp_path: Path, profile: Path) -> None:
    assert profile
    job = job_file(tmp_path, JOB + "extras:\n  slurm: {partition: nowhere}\n")
    said = run("check", job)
    assert said.code == 4
    assert "job.yaml:16:11  $.extras.slurm.partition\nerror E402" in said.err


def test_bash_reads_the_commands(run: Runner, tmp_path: Path) -> None:
    broken = JOB.replace("      - echo and bye", "      - |\n        true\n        if true; then\n          echo x )")
    said = run("check", job_file(tmp_path, broken))
    assert said.code == 3
    assert "job.yaml:17:1  $.taskRoles.worker.commands\nerror E350: bash cannot read the commands" in said.err


@pytest.mark.parametrize(
    ("commands", "codes"),
    [
        ("echo 'open", ["E350"]),
        ("for", ["E350"]),
        ("cat <<EOF\ntext", ["W350"]),
        ("shopt -s extglob\nrm !(kept)", []),
        ("echo ${x:-<% $y %>}; exit 3; [[ a =~ b ]] && (( 1 ))", []),
        ("", []),
    ],
)
def test_what_bash_says(commands: str, codes: list[str]) -> None:
    from dataclasses import replace

    job = paislurm.compile_job(JOB).job
    role = replace(job.roles[0], command=replace(job.roles[0].command, text=commands, lines=((0, 14),)))
    faults = syntax_faults(replace(job, roles=(role,)), "job.yaml")
    assert sorted({fault.code for fault in faults}) == codes
    assert all(fault.place is not None and fault.place.line == 14 for fault in faults)


def test_nothing_of_the_commands_is_run(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASH_ENV", job_file(tmp_path, "touch evil-env\n", "env.sh"))
    monkeypatch.chdir(tmp_path)
    run("check", job_file(tmp_path, JOB.replace("echo and bye", "touch evil; $(touch evil)")))
    assert not list(tmp_path.glob("evil*"))


def test_the_script_is_printed_as_it_is(run: Runner, tmp_path: Path, profile: Path) -> None:
    job = job_file(tmp_path)
    script = paislurm.compile_job(JOB, file="job.yaml", site=paislurm.load_site(SITE, file=str(profile))).script
    assert run("script", job).out == script
    assert json.loads(run("script", job, "--json").out)["script"] == script
    said = run("script", job, "-o", str(tmp_path / "job.sbatch"))
    assert (said.out, said.err.splitlines()[-1]) == ("", f"wrote {tmp_path / 'job.sbatch'}")
    assert (tmp_path / "job.sbatch").read_text(encoding="utf-8") == script


def test_a_script_that_cannot_be_written_is_told(run: Runner, tmp_path: Path) -> None:
    said = run("script", job_file(tmp_path), "-o", str(tmp_path / "none" / "job.sbatch"))
    assert said.code == 4
    assert "No such file or directory" in said.err


def test_standard_input(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    assert "<stdin>: job demo can be submitted" in run("check", "-").out


def test_parameters_and_a_suffix(run: Runner, tmp_path: Path) -> None:
    text = JOB.replace("type: job", "type: job\nparameters: {lr: 1}").replace("and bye", "<% $parameters.lr %>")
    out = run("script", job_file(tmp_path, text), "--set", "lr=0.5", "--suffix", "-b").out
    assert "#SBATCH --job-name=demo-b\n" in out
    assert "\necho 0.5\n" in out


def test_the_plan(run: Runner, tmp_path: Path) -> None:
    assert "demo" in run("plan", job_file(tmp_path)).out
    assert isinstance(json.loads(run("plan", job_file(tmp_path), "--json").out), dict)


def test_a_job_as_large_as_one_likes_fits_on_this_machine() -> None:
    large = (
        JOB.replace("cpu: 1, memoryMB: 64, gpu: 0", "cpu: 200, memoryMB: 900000, gpu: 16")
        .replace("instances: 2", "instances: 50")
        .replace("type: job", "type: job\ndefaults: {virtualCluster: any}\nextras: {slurm: {partition: x}}")
    )
    compiled = paislurm.compile_job(large, site=local_site())
    assert not [fault for fault in compiled.plan.warnings if fault.code != "W402"]
    with pytest.raises(PlanError):
        paislurm.compile_job(large, site=paislurm.load_site(SITE, file="site.yaml"))


SECRETS = """\
secrets:
  token: s3cret
  other:
    - s3cret
extras: {}
"""


@pytest.mark.parametrize(
    "text",
    [
        JOB + SECRETS,
        JOB + "secrets: {token: s3cret}\n",
        JOB.replace('uri: "python:3.11"}', 'uri: "python:3.11", auth: {password: s3cret}}'),
        JOB + "---\ntoken: s3cret\n",
    ],
)
def test_secrets_are_not_kept(text: str) -> None:
    document = read(text, file="job.yaml")
    kept = kept_text(text.encode(), document)
    assert b"s3cret" not in kept
    assert b"echo and bye" in kept
    assert kept_text(JOB.encode(), read(JOB, file="job.yaml")) == JOB.encode()


def test_the_job_file_after_the_secrets_is_kept() -> None:
    text = JOB + SECRETS
    assert kept_text(text.encode(), read(text, file="job.yaml")).endswith(b'"******"\nextras: {}\n')


def test_the_script_needs_no_paislurm(run: Runner, tmp_path: Path) -> None:
    script = run("script", job_file(tmp_path)).out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

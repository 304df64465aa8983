"""`check`, `plan` and `script`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import paislurm
from paislurm.translator.app.input.local_checks import bash_syntax_errors
from paislurm.translator.app.input.secret_files import kept_text
from paislurm.translator.errors import PlanError, ProtocolError
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.site.profile import local_site

from ...cli.running import JOB, SITE, job_file
from ...protocol.jobs_v1 import job as v1
from ..asked import Asked

ROOT = Path(__file__).parents[3]


def test_profiles_are_found_in_order_of_precedence(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_file(tmp_path, JOB.replace("type: job", "type: job\ndefaults: {virtualCluster: gpu}"))

    def partition(site: str | None = None) -> str:
        script = asked.compiler.script(job, site=site).out
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
    assert partition(str(write(tmp_path / "option.yaml", "option"))) == "#SBATCH --partition=option"


def test_commands_are_checked_with_bash(asked: Asked, tmp_path: Path) -> None:
    broken = JOB.replace("      - echo and bye", "      - |\n        true\n        if true; then\n          echo x )")
    asked.compiler.check_job(job_file(tmp_path, broken)).ends(
        3, "job.yaml:17:1  $.taskRoles.worker.commands\nerror E350: bash cannot read the commands"
    )
    old = job_file(tmp_path, v1("taskRoles/0/command", "if true"), "job.json")
    asked.compiler.check_job(old).ends(3, "  $.taskRoles[0].command\nerror E350: bash cannot read the commands")


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
def test_bash_errors_become_diagnostics(commands: str, codes: list[str]) -> None:
    compiled = paislurm.compile_job(JOB)
    job = compiled.job
    role = replace(job.roles[0], command=replace(job.roles[0].command, text=commands, lines=((0, 14),)))
    diagnostics = bash_syntax_errors(replace(job, roles=(role,)), compiled.document, os.environ)
    assert sorted({diagnostic.code for diagnostic in diagnostics}) == codes
    assert all(diagnostic.location is not None and diagnostic.location.line == 14 for diagnostic in diagnostics)


def test_checking_does_not_execute_the_commands(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASH_ENV", job_file(tmp_path, "touch evil-env\n", "env.sh"))
    monkeypatch.chdir(tmp_path)
    asked.compiler.check_job(job_file(tmp_path, JOB.replace("echo and bye", "touch evil; $(touch evil)")))
    assert not list(tmp_path.glob("evil*"))


def test_set_and_suffix_change_the_script(asked: Asked, tmp_path: Path) -> None:
    text = JOB.replace("type: job", "type: job\nparameters: {lr: 1}").replace("and bye", "<% $parameters.lr %>")
    out = asked.compiler.script(job_file(tmp_path, text), suffix="-b", parameters={"lr": "0.5"}).out
    assert [line for line in ("#SBATCH --job-name=demo-b\n", "\necho 0.5\n") if line not in out] == []


def test_the_local_backend_accepts_jobs_of_any_size() -> None:
    large = (
        JOB.replace("cpu: 1, memoryMB: 64, gpu: 0", "cpu: 200, memoryMB: 900000, gpu: 16")
        .replace("instances: 2", "instances: 50")
        .replace("type: job", "type: job\ndefaults: {virtualCluster: any}\nextras: {slurm: {partition: x}}")
    )
    compiled = paislurm.compile_job(large, site=local_site())
    assert not [diagnostic for diagnostic in compiled.plan.warnings if diagnostic.code != "W402"]
    with pytest.raises(PlanError):
        paislurm.compile_job(large, site=paislurm.load_site(SITE, file="site.yaml"))


SECRETS = """\
secrets:
  token: s3cret
  other:
    - s3cret
extras: {}
"""


AUTH = "auth: {password: s3cret}"
IMAGE = 'uri: "python:3.11"}'


@pytest.mark.parametrize(
    "text",
    [
        JOB + SECRETS,
        JOB + "secrets: {token: s3cret}\n",
        JOB + "secrets: {token: s3cret} # s3cret\nextras: {} # kept\n",
        JOB + "secrets: {token: s3cret, # s3cret\n  more: 1}\n",
        JOB + "secrets: # s3cret\n  # s3cret\n  token: x\n  # s3cret\n# s3cret\nextras: {}\n",
        JOB + "secrets:\n  token: |\n    a\n    s3cret\n  # s3cret\n",
        JOB + "secrets:\r\n  token: s3cret\r\n  # s3cret\r\nextras: {}\r\n",
        JOB + "? secrets\n: token: s3cret\n  # s3cret\nextras: {}\n",
        JOB + "parameters: {a: &t s3cret, b: 1}\nsecrets: {token: *t}\n",
        JOB + "parameters: &p {token: s3cret}\nsecrets: *p\n",
        JOB + "parameters: &p {token: s3cret}\nsecrets: {<<: *p, more: 1}\n",
        JOB + "secrets: {token: &t s3cret}\nparameters: {a: [*t]}\n",
        JOB.replace(IMAGE, f'uri: "python:3.11", {AUTH}}}'),
        JOB.replace(IMAGE, f"{AUTH}, {IMAGE}"),
        JOB + "---\ntoken: s3cret\n",
        "\ufeff" + JOB + "# above\n--- # s3cret\ntoken: s3cret\n",
    ],
)
def test_secrets_are_not_saved_with_the_job_file(text: str) -> None:
    kept = kept_text(text.encode(), read(text, file="job.yaml"))
    assert (b"s3cret" in kept, b"echo and bye" in kept) == (False, True)
    hidden = masked(read(text, file="job.yaml").root)
    assert hidden == masked(read(kept, file="job.yaml").root)
    assert hidden["secrets"] in (None, "******")


def masked(root: Any) -> dict[str, Any]:
    """Return what a file says besides its secrets."""
    root = json.loads(json.dumps(root).replace("s3cret", "******"))
    images = [{**each, "auth": "auth" in each} for each in root["prerequisites"]]
    return {**root, "prerequisites": images, "secrets": "******" if "secrets" in root else None}


@given(
    st.lists(st.sampled_from(["secrets", "extras", "parameters"]), unique=True),
    st.sampled_from(
        ["{token: s3cret}", "\n  token: s3cret\n  # s3cret", "{\n token: 's3cret'}", "\n  a: [b,\n   s3cret]"]
    ),
    st.sampled_from(["", " # a", "\n# a", "\n\n"]),
    st.booleans(),
)
def test_the_rest_of_the_job_file_is_saved_unchanged(keys: list[str], secrets: str, between: str, ends: bool) -> None:
    text = JOB + "".join(f"{key}: {secrets if key == 'secrets' else '{a: b}'}{between}\n" for key in keys)
    text = text if ends else text.rstrip("\n")
    document = read(text, file="job.yaml")
    kept = kept_text(text.encode(), document)
    assert b"s3cret" not in kept
    assert kept.decode().startswith(JOB.rstrip())
    assert masked(read(kept, file="job.yaml").root) == masked(document.root)


def test_a_file_without_secrets_is_saved_byte_for_byte() -> None:
    text = JOB + "extras: {a: &a b, c: *a} # &"
    assert kept_text(text.encode(), read(text, file="job.yaml")) == text.encode()


@pytest.mark.parametrize(
    "secret",
    ["!s3cret", "!!int s3cret", "*s3cret", "!s3cret {a: b}", "!s3cret [a]", "{a: [!!bool s3cret]}", "[*s3cret]"],
)
@pytest.mark.parametrize(
    "location", ["secrets: {{token: {}}}", "---\ntoken: {}", "prerequisites: [{{auth: {{password: {}}}}}]"]
)
def test_messages_quote_no_secret(location: str, secret: str) -> None:
    text = (JOB if "prerequisites" not in location else "") + location.format(secret) + "\n"
    with pytest.raises(ProtocolError) as error:
        validate(read(text, file="job.yaml"))
    assert "s3cret" not in " ".join(f"{diagnostic.message} {diagnostic.hint}" for diagnostic in error.value.diagnostics)


def test_the_part_after_the_secrets_is_saved() -> None:
    text = JOB + SECRETS
    assert kept_text(text.encode(), read(text, file="job.yaml")).endswith(b'"******"\nextras: {}\n')

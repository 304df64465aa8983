"""What the journal keeps of a submit: enough to do it once more, and no secret."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paislurm import __version__
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.app.submit.recording import MIN_HIDDEN, absolute_path, masking
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import dump, parse
from paislurm.translator.state.run_record import HIDDEN, FileDigest, RunRecord, parameter

from ...cli.running import JOB, job_file
from ...monitor.jobs import CREATED, INTENT, job_folder
from ..asked import Asked

pytestmark = pytest.mark.usefixtures("slurm", "profile")
TOKEN = "s3cr3t-token"
WITH_PARAMETERS = JOB + "parameters: {lr: 0.1, epochs: 20, data: {name: mnist}, on: true}\n"
WITH_SECRETS = JOB + f"parameters: {{url: none, user: none}}\nsecrets: {{token: {TOKEN}, me: bob}}\n"


def run_of(folder: JobFolder) -> RunRecord:
    created = folder.created()
    assert created is not None
    assert created.run is not None
    return created.run


def sha(path: Path | str) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()


def test_the_run_record_contains_all_inputs_of_a_submit(
    asked: Asked, demo: JobFolder, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = job_file(tmp_path, WITH_PARAMETERS)
    monkeypatch.chdir(tmp_path)
    assert asked.jobs.submit("job.yaml", parameters={"lr": "1e-3"}, suffix="-2").code == 0
    folder = type(demo)(path=demo.path.with_name(f"{demo.name}-2"))
    assert run_of(folder) == RunRecord(
        parameters={"lr": "0.001", "epochs": "20", "data": '{"name": "mnist"}', "on": "true"},
        overrides={"lr": "1e-3"},
        suffix="-2",
        argv=(),
        submit_folder=str(tmp_path),
        job_file=FileDigest(file=file, sha256=sha(file)),
        kept_sha256=sha(folder.path / "job.yaml"),
        script_sha256=sha(folder.script(0)),
        site_profiles=(FileDigest(file=str(profile), sha256=sha(profile)),),
        secrets_file="",
        paislurm_version=__version__,
        submitted_by=f"{user_name()}@{os.uname().nodename}",
    )
    assert not run_of(folder).masks_secrets
    assert [parameter(run_of(folder), name) for name in ("lr", "none")] == ["0.001", None]
    assert parameter(None, "lr") is None


def test_no_secret_is_recorded(demo: JobFolder, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("other: another-secret\n", encoding="utf-8")
    more.chmod(0o600)
    job = job_file(tmp_path, WITH_SECRETS)
    url = f"https://me:{TOKEN}@host/another-secret"
    session = Session(say=lambda _: None)
    session.argv = ("submit", job, "--set", f"url={url}", "--set=user=bob")
    session.jobs.submit(job, parameters={"url": url, "user": "bob"}, secrets=str(more))
    kept = run_of(demo)
    assert (kept.masks_secrets, kept.secrets_file) == (True, str(more))
    assert kept.parameters == kept.overrides == {"url": f"https://me:{HIDDEN}@host/{HIDDEN}", "user": HIDDEN}
    assert f"url=https://me:{HIDDEN}@host/{HIDDEN}" in kept.argv
    journal = demo.journal.read_text(encoding="utf-8")
    assert [secret for secret in (TOKEN, "another-secret", "=bob") if secret in journal] == []


def test_a_recorded_path_is_absolute_and_names_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    monkeypatch.chdir(tmp_path)
    for file, path in (
        ("job.yaml", "job.yaml"), ("a/../job.yaml", "job.yaml"), ("link/job.yaml", "link/job.yaml"),
        ("link/../job.yaml", "link/../job.yaml"),
    ):  # fmt: skip
        assert absolute_path(file) == f"{tmp_path}/{path}"
    assert absolute_path("-") == "-"


@example(["0", "000="], "", "0")
@given(st.lists(st.text(min_size=1, max_size=9), max_size=4), st.text(max_size=9), st.text(max_size=9))
def test_a_masked_argument_contains_no_longer_secret(secrets: list[str], before: str, after: str) -> None:
    hide = masking(secrets)
    for secret in secrets:
        assert hide(secret) == HIDDEN
        assert hide(f"name={secret}").startswith("name=" if "name=" not in secrets else "")
        if len(secret) >= MIN_HIDDEN and not set(secret) & set(HIDDEN):
            assert secret not in hide(f"{before}{secret}{after}")


def test_an_argument_without_secrets_is_unchanged() -> None:
    assert [masking(["abcd", "xy", ""])(word) for word in ("lr=0.1", "taxy", "")] == ["lr=0.1", "taxy", ""]


def test_a_journal_without_run_record_is_read(tmp_path: Path) -> None:
    line = json.loads(dump(CREATED))
    del line["run"]
    assert parse(json.dumps(line).encode()) == CREATED
    assert CREATED.run is None
    assert job_folder(tmp_path, CREATED, INTENT).created() == CREATED


@pytest.mark.parametrize("text", [b"", b"{}\n", b"\xff\n"])
def test_a_journal_without_created_record_has_no_run_record(tmp_path: Path, text: bytes) -> None:
    folder = job_folder(tmp_path, CREATED)
    folder.journal.write_bytes(text)
    assert folder.created() is None


def test_status_of_a_job_without_run_record(asked: Asked, folder: JobFolder) -> None:
    assert "\nparameters" not in asked.jobs.status(folder.name).out
    assert asked.jobs.status(folder.name).one.run is None

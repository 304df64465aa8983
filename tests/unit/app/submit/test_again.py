"""`submit --again`: the same once more, or a word about what is missing or different."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import asdict, replace

from paislurm.translator.app.input.source import Source
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import recorded as again_module
from paislurm.translator.app.submit.submitting import SUBMIT_DIR
from paislurm.translator.state.job_folder import JobFolder

from ...cli.running import JOB, finish, job_file
from ...monitor.jobs import FakeBackend, job_folder
from ..asked import Asked
from .test_recording import TOKEN, WITH_PARAMETERS, WITH_SECRETS, run_of

pytestmark = pytest.mark.usefixtures("slurm", "profile")
USES_SECRET = JOB.replace("echo and bye", "echo <% $secrets.token %>")


def secrets_file(folder: Path, token: str = TOKEN) -> str:
    path = folder / "secrets.yaml"
    path.write_text(f"token: {token}\n", encoding="utf-8")
    path.chmod(0o600)
    return str(path)


def test_again_submits_the_same_job(
    asked: Asked, slurm: FakeBackend, demo: JobFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = job_file(tmp_path, WITH_PARAMETERS)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    assert asked.jobs.submit(file, parameters={"lr": "1e-3"}).code == 0
    monkeypatch.chdir(tmp_path)
    finish(demo, slurm)
    said = asked.jobs.again("demo")
    assert (said.code, "has changed" in said.err) == (0, False), said.err
    old, new = demo, JobFolder(path=demo.path.with_name(f"{demo.name}@2"))
    assert new.script(0).read_bytes() == old.script(0).read_bytes()
    then, now = run_of(old), run_of(new)
    assert asdict(then) == asdict(now)
    assert (new.path / SUBMIT_DIR).read_text(encoding="utf-8") == str(tmp_path / "there")


def test_options_override_those_of_the_earlier_run(
    asked: Asked, slurm: FakeBackend, surroundings: Path, tmp_path: Path
) -> None:
    file = job_file(tmp_path, WITH_PARAMETERS)
    assert asked.jobs.submit(file, suffix="-a", parameters={"lr": "1", "epochs": "2"}).code == 0
    assert asked.jobs.again("demo-a", suffix="-b", parameters={"lr": "3"}).code == 0
    (new,) = surroundings.glob("*-b")
    found = run_of(JobFolder(path=new))
    assert (found.overrides, found.suffix) == ({"lr": "3", "epochs": "2"}, "-b")
    assert len(slurm.submissions) == 2


@pytest.mark.parametrize("fate", ["has changed since", "no longer exists"])
def test_again_uses_the_recorded_job_file(
    asked: Asked, slurm: FakeBackend, job: str, demo: JobFolder, fate: str
) -> None:
    asked.jobs.submit(job)
    finish(demo, slurm)
    Path(job).write_text("nonsense", encoding="utf-8")
    if fate == "no longer exists":
        Path(job).unlink()
    asked.jobs.again("demo").ends(0, f"{job} {fate}: using the recorded copy {demo.path / 'job.yaml'}")
    assert (demo.path / "job.yaml").read_text(encoding="utf-8") == JOB


def test_a_changed_copy_of_the_job_file_is_refused(asked: Asked, slurm: FakeBackend, job: str, demo: JobFolder) -> None:
    asked.jobs.submit(job)
    finish(demo, slurm)
    (demo.path / "job.yaml").write_text("nonsense", encoding="utf-8")
    assert asked.jobs.file_of("demo").code == 0
    Path(job).unlink()
    asked.jobs.again("demo").ends(4, "error E578: ", "neither")


def test_secrets_come_from_an_unchanged_job_file_or_must_be_given(
    asked: Asked, slurm: FakeBackend, surroundings: Path, tmp_path: Path
) -> None:
    job = job_file(tmp_path, USES_SECRET + f"secrets: {{token: {TOKEN}}}\n")
    assert asked.jobs.submit(job).code == 0
    asked.jobs.again("demo", suffix="-2").ends(0, f"using the secrets in {job}, which has not changed")
    Path(job).write_text("nonsense", encoding="utf-8")
    asked.jobs.again("demo", suffix="-3").ends(2, "error E576: ", f"in {job}, which has changed since")
    asked.jobs.again("demo", suffix="-3", secrets=secrets_file(tmp_path, "new")).ends(0, "using the recorded copy")
    tokens = sorted(surroundings.glob("*-[23]/secrets/token"))
    assert [path.read_text(encoding="utf-8") for path in tokens] == [TOKEN, "new"]
    assert asked.jobs.again("demo-3", suffix="-4").code == 0
    assert len(slurm.submissions) == 4


def test_registry_credentials_need_the_job_file(asked: Asked, tmp_path: Path) -> None:
    auth = "auth: {username: me, password: <% $secrets.token %>, registryuri: docker.io}"
    job = job_file(tmp_path, USES_SECRET.replace("type: dockerimage", f"type: dockerimage, {auth}"))
    assert asked.jobs.submit(job, secrets=secrets_file(tmp_path)).code == 0
    assert asked.jobs.again("demo", suffix="-2").code == 0
    Path(job).unlink()
    asked.jobs.again("demo", suffix="-3").ends(2, "error E576: ", "logins of registries")


def test_the_file_of_secrets_is_read_again(
    asked: Asked, slurm: FakeBackend, surroundings: Path, tmp_path: Path
) -> None:
    secrets = secrets_file(tmp_path)
    assert asked.jobs.submit(job_file(tmp_path, USES_SECRET), secrets=secrets).code == 0
    asked.jobs.again("demo", suffix="-2").ends(0, f"using the current secrets in {secrets}")
    assert [path.read_text() for path in surroundings.glob("*-2/secrets/token")] == [TOKEN]
    Path(secrets).unlink()
    asked.jobs.again("demo", suffix="-3").ends(2, "error E576: ", f"were in {secrets}, which no longer exists")
    assert len(slurm.submissions) == 2


def test_a_secret_in_a_parameter_must_be_given(asked: Asked, tmp_path: Path) -> None:
    job = job_file(tmp_path, WITH_SECRETS)
    assert asked.jobs.submit(job, parameters={"url": f"a{TOKEN}", "user": "x"}).code == 0
    asked.jobs.again("demo", suffix="-2").ends(2, "error E577: ", "the values of url in", "--set url=...")
    assert asked.jobs.again("demo", suffix="-2", parameters={"url": "b"}).code == 0


@pytest.mark.parametrize(
    ("then", "named", "backend", "host"),
    [
        ("slurm", {}, "slurm", None),
        ("local", {}, "local", None),
        ("pyslurm", {"backend": "slurm"}, "slurm", None),
        ("ssh:me@login1", {}, "slurm", "me@login1"),
        ("ssh:me@login1", {"host": "login2"}, "slurm", "login2"),
        ("ssh:me@login1", {"backend": "local"}, "local", None),
    ],
)
def test_again_uses_the_recorded_backend_and_host(
    asked: Asked, job: str, demo: JobFolder, then: str, named: dict[str, str], backend: str, host: str | None
) -> None:
    asked.jobs.submit(job)
    created = demo.created()
    assert created is not None
    other = job_folder(demo.path.parent, replace(created, backend=then), name=f"{demo.name}-x")
    (other.path / "job.yaml").write_text(JOB, encoding="utf-8")
    options: dict[str, str | None] = {"backend": None, "host": None, **named}
    source = again_module.source_again(Session(), other, Source(file=""), **options)
    assert (source.backend, source.host, source.text) == (backend, host, JOB.encode())


def test_again_reports_what_has_changed_since(
    asked: Asked, job: str, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked.jobs.submit(job).code == 0
    profile.write_text(profile.read_text(encoding="utf-8") + "# more\n", encoding="utf-8")
    monkeypatch.setattr(again_module, "__version__", "9.9")
    asked.jobs.again("demo", suffix="-2").ends(0, f"the site profile {profile} has changed", "this is 9.9")
    profile.unlink()
    monkeypatch.delenv("PAISLURM_SITE")
    asked.jobs.file_of("demo", suffix="-3").ends(0, f"the site profile was {profile} and is now ")


def test_a_missing_submit_folder_is_reported(
    asked: Asked, surroundings: Path, job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    asked.jobs.submit(job)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").rmdir()
    asked.jobs.again("demo", suffix="-2").ends(0, "no longer exists: using the current folder")
    assert [path.read_text() for path in surroundings.glob(f"*-2/{SUBMIT_DIR}")] == [str(tmp_path)]


def test_a_job_without_run_record_is_refused(asked: Asked, folder: JobFolder) -> None:
    asked.jobs.again(folder.name).ends(4, "error E575: ", f"{folder.path}/job.yaml")


def test_again_keeps_what_the_first_shell_asked_for(
    asked: Asked, slurm: FakeBackend, demo: JobFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the one in which it is submitted again; `script` asks no shell."""
    monkeypatch.setenv("SBATCH_TIMELIMIT", "33")
    file = job_file(tmp_path)
    asked.jobs.submit(file).ends(0, "of your shell: time 33 (SBATCH_TIMELIMIT)")
    finish(demo, slurm)
    for variable, value in (("SBATCH_TIMELIMIT", "44"), ("SBATCH_ACCOUNT", "other")):
        monkeypatch.setenv(variable, value)
    said = asked.jobs.again("demo")
    assert (said.code, "of your shell" in said.err) == (0, False), said.err
    assert run_of(demo).slurm_options == {"time": "33"}
    assert b"\n#SBATCH --time=00:33:00\n" in demo.script(0).read_bytes()
    assert b"--account" not in demo.script(0).read_bytes()
    assert "--time" not in asked.compiler.script(file).out

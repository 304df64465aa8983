"""What a job file needs beside its own text: a readable file, options, and a codeDir of a size."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.input import local_checks as code_size
from paislurm.translator.app.input.local_checks import MAX_CODE_BYTES
from paislurm.translator.app.paths import hint_at_files
from paislurm.translator.rendering.engine import load

from ..running import JOB, job_file

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner

V2 = """protocolVersion: 2
name: code
type: job
prerequisites: [{name: i, type: dockerimage, uri: debian}]
taskRoles: {w: {dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}, commands: ['true']}}
extras: {slurm: {v1: {codeDir: "CODE"}}}
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder one byte over the limit, as `du` counts it, behind a link."""
    folder = tmp_path / "large"
    folder.mkdir()
    with (folder / "data").open("wb") as data:
        data.truncate(MAX_CODE_BYTES + 1 - folder.stat().st_size)
    link = tmp_path / "code"
    link.symlink_to(folder)
    return link


def job_of_v1(tmp_path: Path, code: str) -> str:
    role = {"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": "true"}
    text = json.dumps({"jobName": "old", "image": "debian", "taskRoles": [role], "codeDir": code})
    return job_file(tmp_path, text, "job.json")


@pytest.mark.parametrize("words", [("check",), ("submit", "--backend", "local"), ("submit", "--dry-run")])
@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/"])
def test_too_large_code_is_refused(run: Runner, tmp_path: Path, code: Path, words: tuple[str, ...], form: str) -> None:
    size = f"has {MAX_CODE_BYTES + 1} bytes; the limit is {MAX_CODE_BYTES}"
    told = f"error E337: codeDir {form.format(code).removeprefix('file://')} {size}"
    run(*words, job_of_v1(tmp_path, form.format(code))).ends(3, told, "  $.codeDir\n")


def test_the_error_for_a_converted_job_names_its_own_line(run: Runner, tmp_path: Path, code: Path) -> None:
    file = job_file(tmp_path, V2.replace("CODE", str(code)))
    run("check", file).ends(3, "job.yaml:6:32  $.extras.slurm.v1.codeDir\nerror E337")


def test_code_that_fits_or_is_not_visible_passes_the_check(
    run: Runner, tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code / "data").write_bytes(b"")
    for where in (str(code), "/nowhere/code", "hdfs://host/code", "/", "code", "$PAI_DEFAULT_FS_URI/code"):
        assert run("check", job_of_v1(tmp_path, where)).code == 0, where
    monkeypatch.setattr(code_size, "MAX_SECONDS", 0.0)
    monkeypatch.setattr(code_size, "MAX_CODE_BYTES", 0)
    assert run("check", job_of_v1(tmp_path, str(code))).code == 0


def test_the_script_has_the_same_limit() -> None:
    assert f"readonly PSL_MAX_CODE_BYTES={MAX_CODE_BYTES}\n" in load("runtime/batch/code.sh")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of job files, the current one."""
    for name in ("job.yaml", "job.txt", "train-resnet.yaml", ".hidden.yaml", "notes"):
        (tmp_path / name).touch()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sweep.json").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hint(name: str) -> str:
    with pytest.raises(OSError, match=name or "Is a directory") as error:
        open(name).close()  # noqa: PTH123 - a name as it is typed
    return hint_at_files(name, error.value)


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("job.yml", "did you mean `job.yaml`?"),
        ("Job.yaml", "did you mean `job.yaml`?"),
        ("train-resnt.json", "did you mean `train-resnet.yaml`?"),
        ("more/swep.json", "did you mean `more/sweep.json`?"),
        ("nowhere/job.yaml", "folder `nowhere` does not exist"),
        ("notes/job.yaml", "folder `notes` does not exist"),
        ("more", "it is a folder: use a file in it, such as `more/sweep.json`"),
    ],
)
def test_the_hint_names_the_similar_file(name: str, said: str) -> None:
    assert hint(name) == said


@pytest.mark.parametrize("name", ["abcd.yaml", "hidden.yaml"])
def test_a_name_without_a_similar_file_gets_no_suggestion(there: Path, name: str) -> None:
    assert hint(name) == f"no file in `{there}` has a similar name"


def test_an_empty_name_has_a_hint(run: Runner) -> None:
    run("check", "").ends(3, "the name is empty")


def test_missing_job_files_profiles_and_secrets_get_the_hint(run: Runner, there: Path) -> None:
    job = job_file(there)
    for words in (("check", "job.yml"), ("convert", "job.yml"), ("explain", "job.yml"), ("submit", "job.yml")):
        assert "did you mean `job.yaml`?" in run(*words).err
    assert "--site named it; did you mean `train-resnet.yaml`?" in run("check", job, "--site", "trainresnet").err
    assert "did you mean `notes`?" in run("check", job, "--secrets", "note").err


SITE = """\
partitions:
  batch: {nodes: [{count: 4, cpus: 16, memoryMB: 100000}], timeLimit: 1:00:00}
defaultPartition: batch
accounts: {physics: {qos: [normal]}}
qos: {normal: {}}
"""


@pytest.fixture
def limited(tmp_path: Path, profile: Path) -> str:
    profile.write_text(SITE, encoding="utf-8")
    return job_file(tmp_path, f"{JOB}parameters: {{lr: 1}}\n")


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--partition", "bach"), "--partition: the site has no partition 'bach'", "did you mean `batch`?"),
        (("--partition", "zzz"), "--partition: the site has no partition 'zzz'", "write `--partition batch`"),
        (("--partition", "a,b"), "--partition: the site has no partition 'a,b'", "write one partition, not a list"),
        (("--time", "2:00:00"), "--time: a time limit of 02:00:00 is more than", "write `--time 01:00:00`, or less"),
        (("--account", "physic"), "--account: the site has no account 'physic'", "did you mean `physics`?"),
        (("--account", "zzz"), "--account: the site has no account 'zzz'", "write `--account physics`"),
        (("--qos", "zzz"), "--qos: the site has no QOS 'zzz'", "write `--qos normal`"),
        (("--set", "lrr=1"), "--set lrr: the job has no parameter `lrr`", "did you mean `lr`?"),
        (("--suffix", " x"), "--suffix: the job's name 'demo x': expected a name", ""),
    ],
)
def test_errors_name_the_command_line_option(
    run: Runner, limited: str, words: tuple[str, ...], said: str, hint: str
) -> None:
    shown = run("check", limited, *words, "--json")
    (found,) = json.loads(shown.out)["diagnostics"]
    assert found["message"].startswith(said)
    assert hint in found.get("hint", "")
    assert found.keys().isdisjoint(("file", "line", "path"))
    assert "protocolVersion" not in shown.err


@pytest.mark.usefixtures("limited")
def test_errors_in_the_file_name_the_file(run: Runner, tmp_path: Path) -> None:
    file = job_file(tmp_path, f"{JOB}extras: {{slurm: {{partition: bach}}}}\n")
    said = ("error E402: the site has no partition 'bach'", "extras: {slurm: {partition: bach}}")
    run("check", file, "--time", "30").ends(4, *said)

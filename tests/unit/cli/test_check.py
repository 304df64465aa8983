"""`check` and `script`: what is printed of one file and of several, and the option that a message names."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.site.load import load_site
from tests.cluster.jobs import ROOT

from .running import GOOD, JOB, SITE, Runner, job_file


def test_the_exit_code_of_several_files_is_the_worst_one(files: tuple[str, str], run: Runner) -> None:
    done = run("check", *files)
    done.ends(3, "E203")
    assert ("good.yaml: job good can be submitted" in done.out, "bad.yaml" in done.out) == (True, False)


def test_several_files_give_one_document(files: tuple[str, str], run: Runner) -> None:
    good, bad = json.loads(run("check", "--json", *files).out)["checked"]
    assert [(each["job"], each["exit_status"]) for each in (good, bad)] == [("good", 0), (None, 3)]
    assert {"E201", "E203", "E350"} <= {each["code"] for each in bad["diagnostics"]}


def test_a_file_with_hundreds_of_errors_ends_with_a_note(run: Runner, tmp_path: Path) -> None:
    done = run("check", job_file(tmp_path, GOOD + "".join(f"key{number}: 1\n" for number in range(300))))
    assert done.err.count("error E201") == 200
    assert done.err.endswith("\nnote: the first 200 messages are shown; fix these and check again\n")


def test_missing_job_files_profiles_and_secrets_get_the_hint(run: Runner, there: Path) -> None:
    job = job_file(there)
    for words in (("check", "job.yml"), ("convert", "job.yml"), ("explain", "job.yml"), ("submit", "job.yml")):
        assert "did you mean `job.yaml`?" in run(*words).err
    assert "--site named it; did you mean `train-resnet.yaml`?" in run("check", job, "--site", "trainresnet").err
    assert "did you mean `notes`?" in run("check", job, "--secrets", "note").err


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


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of job files, the current one."""
    for name in ("job.yaml", "job.txt", "train-resnet.yaml", ".hidden.yaml", "notes"):
        (tmp_path / name).touch()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sweep.json").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_valid_file_passes(run: Runner, job: str) -> None:
    said = run("check", job)
    assert (said.code, "job demo can be submitted" in said.out, "note:" in said.err) == (0, True, False)
    assert json.loads(run("check", job, "--json").out)["job"] == "demo"


def test_without_a_profile_two_files_of_several_roles_get_one_warning(run: Runner, tmp_path: Path) -> None:
    """It says that images are not used, and how to get rid of it; nothing is said about nodes that nobody described."""
    text = (ROOT / "examples/parameter-server.yaml").read_text(encoding="utf-8")
    files = [job_file(tmp_path, text, f"{name}.yaml") for name in "ab"]
    said = run("check", *files)
    assert (said.code, said.out.count("can be submitted")) == (0, 2)
    assert re.findall("note:|W[0-9]+|hint: set `containers.runtime`", said.err) == [
        "W402", "hint: set `containers.runtime`",
    ]  # fmt: skip
    site = job_file(tmp_path, "containers: {runtime: none}\n", "site.yaml")
    assert "W402" not in run("check", *files, "--site", site).err


def test_the_script_is_printed_unchanged(run: Runner, tmp_path: Path, job: str, profile: Path) -> None:
    script = compile_job(JOB, file="job.yaml", site=load_site(SITE, file=str(profile))).script
    assert run("script", job).out == script
    assert json.loads(run("script", job, "--json").out)["text"] == script
    said = run("script", job, "-o", str(tmp_path / "job.sbatch"))
    assert (said.out, said.err.splitlines()[-1]) == ("", f"wrote {tmp_path / 'job.sbatch'}")
    assert (tmp_path / "job.sbatch").read_text(encoding="utf-8") == script


def test_a_job_file_is_read_from_stdin(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JOB.encode())))
    assert "<stdin>: job demo can be submitted" in run("check", "-").out

"""Names of files that cannot be read, and what is meant by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from paislurm.translator.app.input.near_files import hint_at_files

from ..running import job_file

if TYPE_CHECKING:
    from pathlib import Path

    from ..running import Runner


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

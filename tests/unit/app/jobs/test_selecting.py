"""Which jobs words mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.translator.app.jobs.selecting import select
from paislurm.translator.app.session import Session, user_name
from paislurm.translator.errors import NotFoundError

from ...monitor.jobs import CREATED, job_folder

ME = user_name()


@pytest.fixture
def trains(surroundings: Path) -> None:
    for at, (user, job) in enumerate([(ME, "train-2"), (ME, "train-1"), ("bob", "train-9"), (ME, "other")]):
        created = replace(CREATED, happened_at=1000 + at % 3, user=user, job=job)
        job_folder(surroundings, created, name=f"{user}~{job}")


@pytest.mark.usefixtures("trains")
@pytest.mark.parametrize("words", [["seed*"], ["sweep"]])
def test_jobs_of_a_pattern_or_group_are_sorted_by_number(surroundings: Path, words: list[str]) -> None:
    for number in (10, 2, 1, 11):
        created = replace(CREATED, user=ME, job=f"seed{number}", group="sweep")
        job_folder(surroundings, created, name=f"{ME}~seed{number}")
    found = [folder.name for folder in select(Session().store, words, user=ME)]
    assert found == [f"{ME}~seed{number}" for number in (1, 2, 10, 11)]


@pytest.mark.usefixtures("trains")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["train-1"], [f"{ME}~train-1"]),
        (["train-2", "train-1", "train-2"], [f"{ME}~train-2", f"{ME}~train-1"]),
        (["train-*"], [f"{ME}~train-1", f"{ME}~train-2"]),
        (["other", "train-[2-9]"], [f"{ME}~other", f"{ME}~train-2"]),
        (["bob~*"], ["bob~train-9"]),
        (["*~train-?"], sorted([f"{ME}~train-1", f"{ME}~train-2", "bob~train-9"])),
        ([], [f"{ME}~train-1"]),
    ],
)
def test_arguments_select_jobs(words: list[str], meant: list[str]) -> None:
    found = [folder.name for folder in select(Session().store, words, user=ME)]
    assert found == meant


@pytest.mark.usefixtures("trains")
def test_last_can_be_combined_with_other_jobs() -> None:
    found = select(Session().store, ["other"], user=ME, last=True)
    assert [folder.name for folder in found] == [f"{ME}~train-1", f"{ME}~other"]


@pytest.mark.usefixtures("trains")
def test_every_unknown_argument_is_reported() -> None:
    with pytest.raises(NotFoundError) as error:
        select(Session().store, ["train-1", "trian-1", "x*"], user=ME)
    assert [each.message.partition(" in ")[0] for each in error.value.diagnostics] == [
        "no job `trian-1` exists",
        "no job",
    ]

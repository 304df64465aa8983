"""`update`: what is refused before a use case is called."""

from __future__ import annotations

import json

import pytest

from paislurm.translator.state.job_folder import JobFolder

from ...monitor.jobs import FakeBackend
from ..running import Runner


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing to change"),
        (("--nice", "-4"), "expected a whole number from 0 on, found '-4'"),
        (("--image", "debian"), "edit the job file and submit it again"),
        (("--command", "true"), "edit the job file and submit it again"),
        (("--time", "soon"), "E585"),
        (("--partition", "a b"), "E585"),
        (("--retries", "-1"), "expected a whole number from 0 to 1000000, found '-1'"),
        (("--nice", "much"), "expected a whole number from 0 on, found 'much'"),
    ],
)
def test_invalid_update_options_are_refused(run: Runner, words: tuple[str, ...], says: str) -> None:
    said = run("update", "demo", *words)
    assert (said.code, says in said.err) == (2, True), said.err


@pytest.mark.usefixtures("waiting")
def test_a_hold_and_a_release_exclude_each_other(run: Runner, slurm: FakeBackend) -> None:
    for words in (("--hold", "--release"), ("--release", "--hold")):
        said = run("update", *words)
        assert (said.code, "--hold cannot be used with --release" in said.err) == (2, True)
    assert slurm.changed == []


@pytest.mark.parametrize("words", [(), ("--memory", "5")])
def test_a_hint_is_a_line_of_its_own(run: Runner, words: tuple[str, ...]) -> None:
    said = run("update", "demo", *words)
    assert (said.code, said.err.splitlines()[-1].startswith("hint: update cannot change commands, images, tasks")) == (
        2,
        True,
    )
    document = run.json("update", "demo", *words)
    assert (document["exit_status"], "commands, images" in json.dumps(document)) == (2, True)


def test_the_command_prints_each_change(run: Runner, slurm: FakeBackend, waiting: JobFolder) -> None:
    said = run("update", "--time", "30", "--hold", "--retries", "4", "--nice", "5")
    assert (said.code, said.out) == (0, f"{waiting.name}: time 00:30:00, nice 5, retries 4, held (job 101)\n")
    assert run.json("update", "--last", "--release")["message"] == f"{waiting.name}: released (job 101)"
    assert [each["changes"][0]["values"] for each in run.json("update", "de*", "--nice", "1")["jobs"]] == [
        {"nice": "1"}
    ]
    assert len(slurm.changed) == 3

"""Commands that take several jobs: which jobs their words mean, and `list`, `status`, `wait` and `cancel`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.session import user_name
from paislurm.translator.cli.output import job_list
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal import read
from paislurm.translator.state.journal_records import Ended
from paislurm.translator.times import aware
from tests.clock import clock

from ...monitor.jobs import (
    CREATED,
    ENDED,
    INTENT,
    ROLES,
    SUBMITTED,
    FakeBackend,
    job_folder,
    leave_result,
    observed,
    task,
)
from ..running import JOB, Runner, job_file, own_job
from ..running import ME as DEMO

pytestmark = pytest.mark.usefixtures("slurm")

ME = DEMO.partition("~")[0]


def names(run: Runner, *words: str) -> list[str]:
    """Return the names of the jobs that `list` shows."""
    return [job["name"].removeprefix(f"{ME}~") for job in run.json("list", *words)["jobs"]]


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["train-2", "train-1", "old"]),
        (("train-*",), ["train-2", "train-1"]),
        (("old", "11"), ["train-1", "old"]),
        (("--since", "1h"), ["train-2", "train-1"]),
        (("--limit", "1"), ["train-2"]),
        (("--limit", "0", "--sort", "name"), ["old", "train-1", "train-2"]),
        (("--sort", "-id"), ["old", "train-2", "train-1"]),
        (("--state", "failed", "--since", "2d"), ["old"]),
    ],
)
def test_list_selects_jobs_by_its_options(run: Runner, words: tuple[str, ...], found: list[str]) -> None:
    assert names(run, *words) == found


@pytest.mark.usefixtures("three")
def test_list_shows_the_requested_columns(run: Runner, slurm: FakeBackend) -> None:
    start = clock() + 1000
    slurm.observations[JobId("12")] = observed("PENDING", job_id="12", reason="Resources", expected_start=start)
    said = run("list", "--columns", "name,partition,vc,nodes,reason,param.lr")
    assert [re.split(" {2,}", text) for text in said.out.splitlines()] == [
        ["name", "partition", "vc", "nodes", "reason", "param.lr"],
        ["train-2", "gpu", "vc", "-", "Resources: other jobs use the resources that it requests", "-"],
        ["train-1", "gpu", "vc", "-", "the nodes are allocated, the tasks are starting", "-"],
        ["old", "gpu", "vc", "n[1-2]", "a task failed", "-"],
    ]
    assert slurm.queries == 1
    waiting_job = run.json("list", "train-2")["jobs"][0]
    assert (waiting_job["expected_start_at"], waiting_job["partition"]) == (str(aware(start)).replace(" ", "T"), "gpu")
    assert re.search(r"^expected start +\d{4}-", run("status", "train-2").out, re.MULTILINE)


def test_a_parameter_column_is_read_from_the_journal(run: Runner, tmp_path: Path) -> None:
    text = JOB.replace("taskRoles:", "parameters: {lr: 1}\ntaskRoles:")
    for value in ("2", "10"):
        file = job_file(tmp_path, text.replace("name: demo", f"name: demo-{value}"))
        assert run("submit", file, "--set", f"lr={value}").code == 0
    assert run("submit", job_file(tmp_path, JOB.replace("name: demo", "name: plain"))).code == 0
    rows = [line.split() for line in run("list", "--columns", "name,param.lr", "--sort", "param.lr").out.splitlines()]
    assert rows == [["name", "param.lr"], ["demo-2", "2"], ["demo-10", "10"], ["plain", "-"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--columns", "nme"), "unknown column 'nme' (did you mean `name`?); columns are name, state"),
        (("--columns", "-name"), "unknown column '-name'"),
        (("--sort", "frob"), "unknown column 'frob'"),
        (("--since", "yesterday"), "'yesterday' is no time: it is 10m"),
        (("--limit", "-1"), "expected a whole number from 0 on, found '-1'"),
    ],
)
def test_invalid_list_options_are_refused(run: Runner, words: tuple[str, ...], says: str) -> None:
    said = run("list", *words)
    assert (said.code, says in " ".join(said.err.split())) == (2, True)


@pytest.mark.usefixtures("three")
def test_a_terminal_shows_the_newest_jobs_and_the_number_of_others(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "is_terminal", lambda _: True)
    monkeypatch.setattr(job_list, "ON_A_TERMINAL", 1)
    monkeypatch.setenv("COLUMNS", "80")
    said = run("list")
    assert [text.split()[0] for text in said.out.splitlines()] == ["name", "train-2"]
    assert said.err == "2 more of 3 jobs are not shown (1 unfinished); --limit 0 shows all\n"
    assert max(map(len, said.out.splitlines())) <= 80
    assert len(run("list", "--limit", "0").out.splitlines()) == 4


@pytest.mark.usefixtures("three")
def test_the_status_of_several_jobs_is_short_and_needs_one_query(run: Runner, slurm: FakeBackend) -> None:
    said = run("status", "train-*", "old")
    blocks = [dict(re.split(" {2,}", text) for text in block.splitlines()) for block in said.out.split("\n\n")]
    states = [(block["job"], block["state"].split()[0]) for block in blocks]
    assert states == [(f"{ME}~train-1", "WAITING"), (f"{ME}~train-2", "WAITING"), (f"{ME}~old", "FAILED")]
    assert (blocks[0]["tasks"], slurm.queries) == ("2 waiting", 1)
    assert [(job["name"], job["state"]) for job in run.json("status", "train-*", "old")["jobs"]] == states
    assert [job["job"] for job in run.json("status", "old*")["jobs"]] == [run.json("status", "old")["job"]] == ["old"]


def test_without_a_name_the_last_job_is_used(run: Runner, three: list[JobFolder]) -> None:
    for words in ((), ("--last",)):
        assert run.json("status", *words)["job"] == "train-2"
    leave_result(three[1])
    said = run("wait", "--json")
    assert (said.code, json.loads(said.out)["job"]) == (0, "train-2")


def test_status_shows_only_the_requested_tasks(run: Runner, surroundings: Path) -> None:
    created = replace(CREATED, user=user_name(), roles=(replace(ROLES[0], instances=40),))
    sent = replace(SUBMITTED, user=user_name(), task_count=40)
    folder = job_folder(surroundings, created, INTENT, sent, name=DEMO)
    failed = {"state": "FAILED", "exit_status": 1, "exit_code": 255}
    leave_result(folder, tasks=[task(index, **(failed if index == 7 else {})) for index in range(40)])

    def shown(*words: str) -> list[str]:
        return [text.split()[0] for text in run("status", "demo", *words).out.splitlines() if "worker-" in text]

    assert shown() == ["worker-7", "worker-[0-6,8-39]"]
    assert shown("--failed") == ["worker-7"]
    assert shown("--task", "worker-1?", "--state", "succeeded") == [f"worker-{index}" for index in range(10, 20)]
    assert len(shown("--tasks")) == len(shown("--all-tasks")) == 40
    assert "no matching tasks" in run("status", "demo", "--state", "running").out
    document = run.json("status", "demo", "--failed")
    assert ([each["index"] for each in document["tasks"]], document["node_list"]) == ([7], "n1")
    assert document["roles"][0]["states"] == {"SUCCEEDED": 39, "FAILED": 1}
    assert [record.node_list for record in read(folder.journal).records if isinstance(record, Ended)] == ["n1"]


def test_partition_and_virtual_cluster_are_recorded(run: Runner, slurm: FakeBackend, job: str) -> None:
    assert run("submit", job).code == 0
    [line] = run.json("list")["jobs"]
    assert (line["partition"], line["virtual_cluster"], len(slurm.submissions)) == ("batch", "default", 1)
    assert re.search(r"^partition +batch$", run("status").out, re.MULTILINE)


@pytest.mark.usefixtures("three")
def test_cancel_without_a_job_is_refused(run: Runner, slurm: FakeBackend) -> None:
    assert (run("cancel").code, slurm.cancelled) == (2, [])
    assert run("cancel", "--last").out == f"{ME}~train-2 is being cancelled (job 12)\n"


def test_cancel_reports_the_number_of_many_finished_jobs(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    for number in range(5):
        own_job(surroundings, f"old-{number}", str(number), ENDED)
    assert (run("cancel", "old-*").out, slurm.cancel_calls) == ("5 jobs have already ended\n", 0)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("list --group swep", 5, "error E597: no group `swep`"),
        ("list --group swep", 5, "hint: did you mean `sweep`?"),
        ("list --group qqq", 5, "hint: `paislurm submit --sweep` creates a group"),
        ("list swep", 5, "did you mean the group `sweep`?"),
        ("list --state runing", 2, "Did you mean `RUNNING`?"),
        ("status seed1 --state Runing", 2, "Did you mean `RUNNING`?"),
        ("remove --state stoped", 2, "Did you mean `STOPPED`?"),
    ],
)
def test_similar_group_and_state_names_are_suggested(
    run: Runner, surroundings: Path, words: str, code: int, says: str
) -> None:
    created = replace(CREATED, user=user_name(), job="seed1", group="sweep")
    sent = replace(SUBMITTED, user=user_name(), job="seed1")
    job_folder(surroundings, created, INTENT, sent, ENDED, name=f"{ME}~seed1")
    said = run(*words.split())
    assert (said.code, says in said.err) == (code, True), said.err
    assert "Did you mean" not in run("list", "--state", "qqq").err
    assert run("list", "--state", "failed").out.count("seed1") == 1


@pytest.mark.parametrize("nodes", ["n5,n6", "n[5-6]"])
def test_nodes_of_components_are_shown_as_one_list(
    run: Runner, slurm: FakeBackend, surroundings: Path, nodes: str
) -> None:
    own_job(surroundings, "het", "11")
    slurm.observations[JobId("11")] = observed("RUNNING", job_id="11", nodes=nodes)
    assert run("list", "--columns", "nodes").out.split() == ["nodes", "n[5-6]"]
    assert run.json("status", "het")["node_list"] == "n[5-6]"


def test_without_jobs_list_and_watch_print_a_message(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    for command, message in (("list", f"no jobs in {surroundings}\n"), ("watch", "you have no unfinished jobs\n")):
        said = run(command)
        assert (said.code, said.out, said.err, slurm.queries) == (0, "", message, 0)
    assert run.json("list")["jobs"] == []


def test_a_thousand_jobs_are_listed_quickly_with_one_query(run: Runner, slurm: FakeBackend, surroundings: Path) -> None:
    surroundings.mkdir(parents=True)
    for number in range(1, 1001):
        own_job(surroundings, f"job{number}", str(number), *((ENDED,) if number % 50 else ()))
        slurm.observations[JobId(str(number))] = observed("RUNNING", job_id=str(number))
    began = time.monotonic()
    said = run("list")
    took = time.monotonic() - began
    assert (len(said.out.splitlines()), slurm.queries) == (1001, 1)
    assert took < 5

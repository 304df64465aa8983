"""What `explain --when` says of a job is what the real script and the real monitor do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.translator.app.what_if.attempt_model import GAP
from paislurm.translator.app.what_if.completion_model import RoleModel, is_provisional
from paislurm.translator.app.what_if.play import LOST_NODE, Played
from paislurm.translator.exit_codes.table import code_of_status, exit_rules
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Cancelled, Ended, Intent, Retry, Submitted

from ..monitor.jobs import NOW, FakeBackend, job_folder, observed, stepped
from .bash import run as run_bash
from .supervision_cases import MADE, START, Case, run
from .test_exit_spec import CLASSIFY, lay_out, table
from .what_if_questions import SITES, SOME_NODE, UID, USER, Question, questions


@pytest.mark.slow("130 scenarios in bash and through the monitor")
@pytest.mark.parametrize("site", SITES, ids=["plain", "few retries", "no retries", "known nodes"])
@settings(MADE, max_examples=4)
@given(data=st.data())
def test_the_answer_is_what_script_and_monitor_do(
    data: st.DataObject, site: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = data.draw(st.lists(questions(site), min_size=CASES, max_size=CASES))
    attempts = [
        (question, played)
        for question in asked
        for played in question.played
        if played.tasks is not None and played.events and (played.result or not played.outside)
    ]
    cases = [question.case(played) for question, played in attempts]
    run(cases)
    results = {}
    for (question, played), case in zip(attempts, cases, strict=True):
        results[id(played)] = check_script(question, played, case)
    folder = tmp_path_factory.mktemp("jobs")
    for number, question in enumerate(asked):
        Followed(question, folder / str(number)).check(results)


def test_a_slot_gets_a_retry_before_the_death_of_its_last_task_counts() -> None:
    """A death by KILL counts two seconds later, and only then ends the job."""
    slurm = {"v1": {}, "time": "4", "slots": 1}
    site = {"retry": {"maxTransientRetries": 0}}
    question = Question([RoleModel(2, 1, -1, 1, 1)], {"gangAllocation": False, "slurm": slurm}, 0, site)
    question.play(["r0-0 exits 1", "r0-1 exits 137"])
    (played,) = question.played
    case = question.case(played)
    run([case])
    result = check_script(question, played, case)
    assert [(row["state"], row["task_attempt"]) for row in result["tasks"]] == [("STOPPED", 1), ("FAILED", 0)]


CASES = 33
"""Scenarios that one bash plays."""


def words_of(case: Case, first: str) -> str:
    (line,) = [line for line in case.said if line.startswith(f"{first} ")]
    return line.partition(" ")[2]


def check_script(question: Question, played: Played, case: Case) -> dict[str, Any]:
    """Compare an attempt with the result that the bash writes, and return that."""
    result: dict[str, Any] = json.loads(words_of(case, "result"))
    assert played.tasks is not None
    began = START - played.tasks.began
    rows = {(row["role"], row["index"]): row for row in result["tasks"]}
    names = question.setting.job.names
    if played.result is None:
        done = {key for key, row in rows.items() if row["state"] != "STOPPED"}
        assert result["outcome"] == "interrupted", question.text()
        assert case.decided_at() == played.tasks.now + GAP + began, question.text()
        assert done == {(names[each.role], each.index) for each in played.tasks.exits}, question.text()
        return result
    said = played.result
    trigger = {"count": None} if said.trigger is None else {
        "completion_rule": said.trigger.completion_rule, "role": said.trigger.role, "index": said.trigger.index,
        "count": said.trigger.count, "threshold": said.trigger.threshold,
    }  # fmt: skip
    assert (result["outcome"], result["exit_code"], result["behaviour"]) == (
        said.outcome,
        said.exit_code,
        said.behaviour,
    ), question.text()
    assert (result["trigger"] or {"count": None}) == trigger, question.text()
    for task in said.tasks:
        row = rows[task.role, task.index]
        assert (row["state"], row["exit_code"], row["behaviour"], row["task_attempt"]) == (
            task.state,
            task.exit_code,
            task.behaviour,
            task.task_attempt,
        ), (task, question.text())
    assert [f"{names[role]}-{index}" for role, index in played.stopped] == [
        f"{task.role}-{task.index}" for task in said.tasks if task.state == "STOPPED"
    ]
    last = played.events[-1]
    late = 2 if last[1] and is_provisional(last[0].status, last[0].code) else 0
    assert case.decided_at() == played.tasks.now + began + late, question.text()
    if played.stopped:
        assert int(words_of(case, "kill")) == played.grace, question.text()
    return result


class Followed:
    """A job that the real monitor follows through a scenario."""

    def __init__(self, question: Question, path: Path) -> None:
        self.question = question
        created = replace(question.setting.created, happened_at=NOW)
        first = Submitted(
            happened_at=NOW, attempt=0, job_id="7", job=created.job, user=USER, backend="slurm",
            task_count=sum(role.instances for role in created.roles),
        )  # fmt: skip
        intent = Intent(happened_at=NOW, attempt=0, tag="paislurm-1")
        self.folder: JobFolder = job_folder(path, created, intent, first, name=f"{USER}~demo")
        self.folder.script(0).write_text("#!/bin/bash\n")
        self.backend = FakeBackend()
        self.now, self.job_id = NOW, JobId("7")

    def check(self, results: dict[int, dict[str, Any]]) -> None:
        """Compare each attempt with what the monitor decides."""
        before: Played | None = None
        for played in self.question.played:
            if before is not None:
                self.submit(before, played)
            if played.status is None:
                return
            self.end(played, results.get(id(played)))
            before = played

    def submit(self, before: Played, played: Played) -> None:
        """Let the monitor submit an attempt."""
        view = stepped(self.folder, self.backend, self.now)
        assert view.history.attempt == played.number, self.question.text()
        assert self.backend.submissions[-1].exclude == self.nodes(before.excluded_nodes), self.question.text()
        self.job_id = JobId(view.history.job_id)

    def nodes(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the nodes of the script for those of an answer."""
        return tuple(
            SOME_NODE if name == LOST_NODE else name.replace("the node of r", "n").replace("-", ".") for name in names
        )

    def end(self, played: Played, result: dict[str, Any] | None) -> None:
        """End an attempt, let the monitor decide, and compare."""
        if result is not None:
            text = json.dumps(result | {"attempt": played.number, "job_id": self.job_id})
            self.folder.result(played.number).write_text(text, encoding="utf-8")
        event = played.outside
        state, nodes, raw = "FAILED", "", ""
        if event is not None:
            state = {"node": "NODE_FAIL", "time": "TIMEOUT", "cancel": "CANCELLED"}.get(event.kind, event.state)
            if event.kind == "cancel":
                raw = f"CANCELLED by {0 if event.user else UID}"
            if event.kind == "cancel" and not event.user:
                self.folder.append(
                    Cancelled(happened_at=self.now, attempt=played.number, user=USER, job_id=self.job_id)
                )
            if state in ("NODE_FAIL", "BOOT_FAIL"):
                nodes = f"n{event.tasks[0][0]}.{event.tasks[0][1]}" if event.tasks else SOME_NODE
        self.backend.lost = {nodes: "down"} if nodes else {}
        self.backend.observations = {
            self.job_id: observed(state, final=True, job_id=self.job_id, nodes=nodes, raw_state=raw or state)
        }
        self.now += GAP
        # The site's limit on attempts an hour keeps the next attempt back, so that it can be looked at.
        view = stepped(self.folder, self.backend, self.now, room_at=self.now + 10**6)
        known = view.history
        assert known.retry or known.ended, (view.job_status, self.question.text())
        assert decided(known.retry or known.ended) == decided(played.retry or played.known.ended), self.question.text()
        if known.ended is not None:
            said = self.question.said[played.number]
            assert (said.state, said.exit_code) == (known.ended.state, known.ended.exit_code), self.question.text()
        if known.retry is not None and played.retry is not None:
            delay = known.retry.retry_at - known.retry.happened_at
            assert delay == played.retry.retry_at - played.retry.happened_at, self.question.text()
            said = self.question.said[played.number]
            assert said.next_attempt == played.number + 1
            assert said.min_delay is not None
            assert said.max_delay is not None
            assert said.min_delay <= delay <= said.max_delay, self.question.text()
            assert (said.min_delay == said.max_delay) == ("random delay" not in known.retry.retry_rule)
            assert known.retry.blamed_nodes == self.nodes(played.retry.blamed_nodes), self.question.text()
            self.now = known.retry.retry_at


def decided(record: Retry | Ended | None) -> tuple[Any, ...]:
    """Return what a decision is worth. Of nodes that stay, a scenario has no names."""
    if isinstance(record, Retry):
        rule = re.sub("; .* stays: ", "; it stays: ", record.retry_rule)
        counts = record.retries, record.used_retries, record.transient_retries
        return record.exit_code, record.behaviour, rule, *counts
    assert record is not None
    return record.state, record.exit_code


def test_exit_statuses_get_the_codes_of_the_script(tmp_path: Path) -> None:
    for status in range(1, 256):
        lay_out(tmp_path / f"{status:03}", status)
    said = run_bash(table(exit_rules("fixed")) + CLASSIFY, str(tmp_path)).splitlines()
    assert said == ["{} {}".format(*code_of_status(status, "fixed")) for status in range(1, 256)]

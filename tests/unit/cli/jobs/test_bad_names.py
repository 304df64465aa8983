"""Texts that no name, path or stream can hold, in whatever a job folder says: no command fails inside by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paislurm.translator.app.session import user_name
from paislurm.translator.state.job_folder import JobFolder
from paislurm.translator.state.journal_records import Changed, Observed, dump
from tests.clock import clock

from ...monitor.jobs import FAILED, FakeBackend, result, task
from ...protocol.jobs import changed
from ..running import ME, Runner

BAD = {"no characters": "a\0b\ud83dc\udc00", "long": "x" * 5000}
COMMANDS = (
    ("list", "--all", "--json"), ("status", ME), ("logs", ME), ("monitor", "--once"), ("update", ME, "--time", "30"),
    ("report", ME, "-o", "REPORT"), ("submit", "--again", ME, "--suffix", "-2", "--dry-run"), ("diff", ME, "FILE"),
    ("exec", ME, "worker-0", "true"), ("cancel", ME), ("remove", ME, "--dry-run"),
)  # fmt: skip


def texts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where the texts in a document are; those of our own form, by which it is known, are left as they are."""
    if isinstance(value, str) and path[-1] != "kind":
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from texts(inner, (*path, key))


@pytest.fixture
def lines(run: Runner, slurm: FakeBackend, demo: JobFolder, job: str) -> list[Any]:
    """Submit a job with all that a record can have, let it be retried; return the lines of its journal."""
    assert (run("submit", job, "--time", "20").code, len(slurm.submissions)) == (0, 1)
    at = {"happened_at": clock() - 5, "attempt": 0}
    found = [json.loads(line) for line in demo.journal.read_text().splitlines()]
    found[0] |= {"group": "g", "sweep": {"a": "1"}, "virtual_cluster": "v", "partition": "p", "notify": ["JobFailed"]}
    more = (
        Observed(**at, backend_state="RUNNING", backend_reason="None", backend_reasons=("a", "b")),
        Changed(**at, user=user_name(), values={"time": "00:10:00"}, old_values={"time": "1"}, job_id="101"),
    )
    return [*found, *(json.loads(dump(record)) for record in more)]


def write(folder: JobFolder, lines: list[Any]) -> None:
    folder.journal.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")


def fails_inside(run: Runner, tmp_path: Path, commands: Any) -> list[str]:
    """Return the commands that end with an internal error, and its words."""
    names = {"REPORT": str(tmp_path / "report.html"), "FILE": str(tmp_path / "job.yaml")}
    said = [(words, run(*(names.get(word, word) for word in words))) for words in commands]
    return [f"{' '.join(words)}: {each.err[-300:]}" for words, each in said if each.code not in range(7)]


@pytest.mark.slow("every text of every record, by every command")
@pytest.mark.parametrize("bad", BAD)
def test_commands_accept_bad_texts_in_a_journal(
    run: Runner, demo: JobFolder, lines: list[Any], tmp_path: Path, bad: str
) -> None:
    found = []
    for number, line in enumerate(lines):
        for path in texts(line):
            spoilt = changed(line, "/".join(map(str, path)), BAD[bad])
            write(demo, [*lines[:number], spoilt, *lines[number + 1 :]])
            found += [f"{line['kind']} {path}: {each}" for each in fails_inside(run, tmp_path, COMMANDS)]
    assert not found


@pytest.mark.parametrize("bad", BAD)
def test_commands_accept_bad_texts_in_a_result(
    run: Runner, demo: JobFolder, lines: list[Any], tmp_path: Path, bad: str
) -> None:
    assert len(lines) == 5
    whole = result(**FAILED, trigger={"completion_rule": "minFailedInstances", "role": "worker", "index": 0, "count": 1,
        "threshold": 1}, tasks=[task(0, node_address="n1", ports_by_label={"http": [1]}), task(1)])  # fmt: skip
    found = []
    for path in texts(whole):
        demo.result(0).write_text(json.dumps(changed(whole, "/".join(map(str, path)), BAD[bad])), encoding="utf-8")
        found += [f"{path}: {each}" for each in fails_inside(run, tmp_path, COMMANDS[:3])]
    assert not found


def test_invalid_characters_are_replaced_in_output(run: Runner, demo: JobFolder, lines: list[Any]) -> None:
    lines[0] |= {"virtual_cluster": "a\0b", "partition": "\udcff/\ud800"}
    write(demo, lines)
    assert run.json("status", ME)["virtual_cluster"] == "a\ufffdb"
    assert demo.history().partition == "\udcff/\ufffd"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"a": ' + "[" * 100_000])
@pytest.mark.usefixtures("lines")
def test_too_deep_nesting_in_files_is_reported(run: Runner, demo: JobFolder, text: str) -> None:
    with demo.journal.open("a", encoding="utf-8") as journal:
        journal.write(f"{text}\n")
    for file in (demo.result(0), demo.path / "plan.json", demo.attempt(0).parent / "x.json"):
        file.write_text(text, encoding="utf-8")
    said = run("status", ME)
    assert (said.code, "line 4 cannot be read: " in said.err) == (0, True), said.err
    assert run("list").code == 0
    assert run("diff", ME, ME).code == 2

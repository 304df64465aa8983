"""What commands print with `--json` has a schema and a place on the docs page; both come from the records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import fields, replace

from paislurm.backends.base import JobId
from paislurm.translator.app.json_documents import SCHEMA_VERSION, definitions, document_text, structs
from paislurm.translator.app.sites import ask as ask_module
from paislurm.translator.cli.command_group import COMMANDS as PROGRAM
from paislurm.translator.cli.output.documents import COMMANDS
from paislurm.translator.monitor.job_site import due_notifications
from paislurm.translator.monitor.notify import message
from paislurm.translator.state.history import history
from paislurm.translator.state.job_folder import JobFolder
from tests.documents import DATA, faults
from tests.golden.remake import CASES, compiled

from ...app.ran import Ran, script
from ...monitor.jobs import CREATED, ENDED, INTENT, NOW, SUBMITTED, FakeBackend, observed
from ...protocol.jobs_v1 import job as job_v1
from ...site.detection.answered import recorded
from ..json_page import FILES, PAGE, documents, kind, page
from ..running import Runner, job_file


def test_every_command_has_a_schema() -> None:
    assert {name.partition(" ")[0] for name in COMMANDS} == {*PROGRAM, "error"}


@pytest.mark.parametrize("name", [*COMMANDS, ""])
def test_schemas_are_strict_and_describe_every_key(run: Runner, name: str) -> None:
    said = run("schema", "output", *name.split())
    schema = json.loads(said.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert set(re.findall(r'"#/\$defs/(\w+)"', said.out)) == set(schema["$defs"])
    for definition in schema["$defs"].values():
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False
            assert set(definition["required"]) <= set(definition["properties"])
            assert all(each["description"] for each in definition["properties"].values())


def test_the_page_matches_the_document_classes() -> None:
    """`make golden` remakes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_key_has_one_type_everywhere() -> None:
    """Those of files may be null or empty where documents are not, and have seconds for times."""
    records = definitions([*documents(), *FILES])
    types: dict[str, set[str]] = {}
    for name, record in records.items():
        for key, schema in record.get("properties", {}).items():
            what = re.sub(r"\[\w+\]\(#\w+\)", "object", kind(schema)).removesuffix(" or null")
            types.setdefault(key, set()).add(what)
            assert (what != "time") or key.endswith("_at"), (name, key)
    several = {key: found for key, found in types.items() if len(found) > 1}
    assert {key for key, found in several.items() if not (key.endswith("_at") and found == {"time", "number"})} == set()


def test_document_classes_have_unique_names() -> None:
    names = [record.__name__ for record in structs([*documents(), *FILES])]
    assert sorted(names) == sorted(set(names))
    assert all(fields(record) for record in documents())


def test_an_error_is_a_document_of_every_command() -> None:
    error = {"schemaVersion": SCHEMA_VERSION, "error": "a", "exit_status": 2, "diagnostics": []}
    assert [name for name in COMMANDS if faults(name, error)] == []
    assert faults("error", error | {"diagnostics": [{"code": "E1", "severity": "bad", "message": "a"}]})


def test_plans_match_their_schema() -> None:
    found = [faults("plan", json.loads(document_text(compiled(case).plan))) for case in CASES]
    assert found == [[]] * len(CASES) != []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["output", "frobnicate"], "no schema of 'frobnicate'; choose from: check, plan"),
        (["output", "site"], "no schema of 'site'; choose from: "),
        (["v1", "list"], "COMMAND can only be used with `output`: paislurm schema output list"),
    ],
)
def test_names_without_a_schema_are_wrong_usage(run: Runner, words: list[str], says: str) -> None:
    said = run("schema", *words)
    said.ends(2, says)
    assert said.out == ""


def keys(value: Any, key: str = "") -> Iterator[str]:
    """Yield each key of a document, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from keys(each, key)
    elif isinstance(value, dict) and key not in DATA:
        for name, each in value.items():
            yield name
            yield from keys(each, name)


def test_files_keep_to_their_records(run: Runner, ran: Callable[..., Ran], tmp_path: Path) -> None:
    left = ran(["exit 3"], [script("tools", ("taskStarts", "true"))], taskRoles__worker__prerequisites=["tools"])
    journal = (left.folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    due = due_notifications(history([replace(CREATED, notify=("failed",)), INTENT, SUBMITTED, ENDED]))
    notifications = [message(each, mail=False) for each in due]
    known = {key for record in definitions(FILES).values() for key in record.get("properties", ())}
    found = [left.result, *map(json.loads, [*journal, *notifications])]
    assert (len(notifications), set(keys(found)) - known) == (1, {"version"})
    run("report", "demo", "--json", "-o", str(tmp_path / "page.html")).ends(0)


def test_commands_that_no_other_test_calls_with_json_print_their_documents(
    run: Runner, job: str, tmp_path: Path, folder: JobFolder, slurm: FakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a document must be is held wherever a test prints one."""
    monkeypatch.setattr(ask_module, "ask", lambda *_: recorded("24.11"))
    slurm.observations[JobId("7")] = observed("RUNNING")
    folder.reports(0).mkdir(parents=True)
    folder.script(0).touch()
    lines = f"peer 0 0 0 10.0.0.1 0 jupyter:5000 http:5001\nstart 0 0 0 0 n1 4 {NOW}\n"
    (folder.reports(0) / "n1.log").write_text(lines, encoding="utf-8")
    old = job_file(tmp_path, job_v1(), "old.json")
    odd = job_file(tmp_path, "partitions: {gone: {}}\n", "odd.yaml")
    batch = job_file(tmp_path, "#!/bin/bash\n#SBATCH --nodes=1\n", "job.sbatch")
    for words in (
        ("convert", old), ("verify", "--runtime"), ("exec", "--json", "demo", "worker-0", "true"),
        ("port-forward", "demo", "worker-0", "http"), ("site", "check"), ("site", "check", job),
        ("site", "check", old, batch), ("site", "check", "--site", odd),
    ):  # fmt: skip
        assert "error" not in json.loads(run(*words, "--json").out), words

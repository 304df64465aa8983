"""Tests of JSON documents and their schemas."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Literal

import jsonschema
import pytest
from msgspec import UNSET, Struct, UnsetType

from paislurm.translator.app.json_documents import (
    DIALECT,
    SCHEMA_VERSION,
    document_text,
    field_notes,
    json_schema,
    structs,
)
from paislurm.translator.times import Time, aware, seconds_since_1970

AT = datetime(2026, 11, 23, 8, 10, 0, 5, tzinfo=timezone.utc)


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record within a document."""

    number: int
    """The number."""
    hint: str = ""
    """The hint."""


class Base(Struct, frozen=True, kw_only=True, rename={"limit": "time_limit"}):
    """Fields of all documents."""

    name: str
    """The name."""
    limit: timedelta
    """A limit
    on two lines."""


class Report(Base, frozen=True, kw_only=True):
    """A document."""

    at: Time | None
    """The time."""
    state: Literal["A", "B"] | None = None
    """The state."""
    parts: tuple[Part, ...] = ()
    """The parts."""
    more: int | UnsetType = UNSET
    """An optional number."""


REPORT = Report(name="x", limit=timedelta(minutes=1), at=AT, parts=(Part(number=1),))


def test_a_document_has_a_version_times_with_zones_and_seconds() -> None:
    assert json.loads(document_text(REPORT)) == {
        "schemaVersion": SCHEMA_VERSION,
        "name": "x",
        "time_limit": 60,
        "at": "2026-11-23T08:10:00+00:00",
        "state": None,
        "parts": [{"number": 1}],
    }
    assert "\n" not in document_text(REPORT, indent=None)


def test_the_schema_is_closed_and_describes_each_key() -> None:
    schema = json_schema([Report], "reports")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["title"], set(schema["$defs"])) == (
        DIALECT,
        "reports",
        {"ReportDocument", "Part"},
    )
    report = schema["$defs"]["ReportDocument"]
    assert report["properties"]["time_limit"] == {"description": "A limit on two lines.", "type": "integer"}
    assert "more" not in report["required"]
    assert schema["$defs"]["Part"]["required"] == ["number"]


@pytest.mark.parametrize(
    ("changes", "is_right"),
    [
        ({}, True),
        ({"more": 1}, True),
        ({"at": None}, True),
        ({"state": "A"}, True),
        ({"state": "C"}, False),
        ({"other": 1}, False),
        ({"time_limit": "PT1M"}, False),
        ({"schemaVersion": SCHEMA_VERSION - 1}, False),
        ({"parts": [{"hint": "without a number"}]}, False),
    ],
)
def test_the_schema_accepts_its_documents_and_no_others(changes: dict[str, object], *, is_right: bool) -> None:
    document = json.loads(document_text(REPORT)) | changes
    assert jsonschema.Draft202012Validator(json_schema([Report], "reports")).is_valid(document) is is_right


def test_each_struct_is_found_once_in_order() -> None:
    assert structs([Report, Part]) == [Report, Part]
    assert field_notes(Report)["time_limit"] == "A limit on two lines."


def test_times() -> None:
    assert seconds_since_1970(aware(7)) == 7
    assert aware(1 << 62) is aware(None) is seconds_since_1970(None) is None

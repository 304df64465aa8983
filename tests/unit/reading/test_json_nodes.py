"""Reading JSON with comments: values, places, bounds. What is said of faults is in tests/rejected."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.errors import ProtocolError
from paislurm.translator.reading.read import read

from .test_read import check_faults, check_places

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs"], exclude_characters="\ufeff"), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))
NOTHING = st.sampled_from(["", " ", "\r\n", "\t", '// a "protocolVersion": {\n', "/* a, \n * b] */", "//\n//\n"])
JSON_LIKE = st.text(st.sampled_from("ab1:, -\n[]{}\"'#%/*\\\t.eu0\u2028“"), max_size=60)


class Commented(json.JSONEncoder):
    """Write JSON with something between any two of its tokens that means nothing."""

    between: Iterable[str] = ()

    def iterencode(self, o: Any, _one_shot: bool = False) -> Any:
        for token, nothing in zip(super().iterencode(o, _one_shot=False), cycle(self.between), strict=False):
            yield nothing + token


@given(st.dictionaries(TEXT, DATA, max_size=4), st.booleans(), st.lists(NOTHING, min_size=1, max_size=5))
def test_dumped_values_are_read_back(data: dict[str, Any], ascii_only: bool, between: list[str]) -> None:
    wanted = {**data, "jobName": "demo"}
    writer = Commented(ensure_ascii=ascii_only)
    writer.between = between
    text = "".join(writer.iterencode(wanted))
    document = read(text, file="job.json")
    assert document.root == wanted
    check_places(document)


@given(JSON_LIKE)
@settings(max_examples=500)
def test_invalid_json_is_an_error_with_a_location(nonsense: str) -> None:
    try:
        check_places(read('{"jobName": ' + nonsense, file="job.json"))
    except ProtocolError as error:
        check_faults(error)


def test_locations_match_the_file() -> None:
    document = read('// a job\n{"jobName":\t"demo", /* x\n*/ "taskRoles": [\n  {"name": "a"}]}', file="job.json")
    assert str(document.location(("jobName",))) == "job.json:2:13"
    assert str(document.location(("jobName",), key=True)) == "job.json:2:2"
    assert str(document.location(("taskRoles", 0, "name"))) == "job.json:4:12"
    assert document.spans[("taskRoles", 0)].last_line == 4
    with pytest.raises(ProtocolError) as caught:
        read('{\n\t"jobName": yes}', file="job.json")
    assert str(caught.value.diagnostics[0].location) == "job.json:2:13"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"http://host//x /* y */"', "http://host//x /* y */"),
        (r'"\u00e9\ud83d\ude00\/\n"', "é😀/\n"),
        ("1e3", 1000.0),
        ("-0", 0),
        ("1E400", float("inf")),
        ("9" * 100, int("9" * 100)),
        ("9" * 1_000_000, "9" * 1_000_000),
        (r'"\u0001\u007f\ufeff"', "\x01\x7f\ufeff"),
        ("true", True),
        ("null", None),
        ('"<<"', "<<"),
    ],
)
def test_values(written: str, value: object) -> None:
    document = read('{"jobName": ' + written + ', "<<": 1,}', file="job.json")
    assert document.root == {"jobName": value, "<<": 1}
    assert [fault.code for fault in document.warnings] == ["W102"]


@pytest.mark.slow("megabytes of text")
@pytest.mark.parametrize(
    "text",
    [
        '{"jobName": ' + "[" * 100_000,
        '{"jobName": [' + '{"a": 1},' * 200_000 + "]}",
        '{"jobName": "' + "\\" * 1_000_000,
        '{"jobName": ' + "/*" * 1_000_000,
        '{"jobName": ' + "//\n" * 200_000,
        '{"jobName": ' + "'" * 1_000_000 + "}",
        '{"jobName": [' + "," * 1_000_000,
    ],
    ids=["deep", "many", "backslashes", "comment", "comments", "quotes", "commas"],
)
def test_megabytes_of_invalid_json_are_refused_quickly(text: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(text, file="job.json")
    check_faults(caught.value)

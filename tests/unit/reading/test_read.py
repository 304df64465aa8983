"""Reading: values, places, bounds. What is said of faults is in tests/rejected."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.errors import ProtocolError
from paislurm.translator.reading import read as reading
from paislurm.translator.reading.document import Document, Path, Value, path_text
from paislurm.translator.reading.read import read
from paislurm.translator.reading.scalars import plain_value


def same_to_both(text: str) -> bool:
    """Tell whether PyYAML, which dumps, quotes a text that would be a number here, such as 1e3."""
    return isinstance(plain_value(text), str) or yaml.safe_load(f"[{text}]") != [text]


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12).filter(same_to_both)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | KEYS
DATA = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))
YAML_LIKE = st.text(st.sampled_from("ab1: -\n[]{},&*!|>'\"#%@`~<\t?\\.é\u2028"), max_size=60)


def paths_of(value: Value, path: Path = ()) -> list[Path]:
    """Return the paths of a value and of all values in it."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(each for step, child in inner for each in paths_of(child, (*path, step)))]


def check_places(document: Document) -> None:
    """Check that each value has a place, and that it is in the file."""
    assert set(paths_of(document.root)) == set(document.spans)
    for span in document.spans.values():
        for line, column in ((span.line, span.column), (span.key_line, span.key_column)):
            assert 1 <= line <= len(document.lines)
            assert 1 <= column <= len(document.lines[line - 1]) + 1
        assert span.line <= span.last_line <= len(document.lines)


def check_faults(error: ProtocolError) -> None:
    """Check that an error tells of something, and where it is."""
    assert error.diagnostics
    assert all(diagnostic.location for diagnostic in error.diagnostics)


@given(st.dictionaries(KEYS, DATA, max_size=4), st.booleans())
def test_dumped_values_are_read_back(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump({"root": data}, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    document = read(text, file="job.yaml")
    assert document.root == {"root": data}
    check_places(document)


@settings(max_examples=500)
@given(st.text(max_size=80) | YAML_LIKE | st.binary(max_size=60))
def test_any_text_is_a_document_or_an_error(text: str | bytes) -> None:
    try:
        document = read(text, file="job.yaml")
    except ProtocolError as error:
        check_faults(error)
    else:
        check_places(document)


@given(YAML_LIKE)
def test_any_text_in_a_role_is_read_or_refused(text: str) -> None:
    try:
        check_places(read("taskRoles:\n  worker:\n    commands:\n      - " + text, file="job.yaml"))
    except ProtocolError as error:
        check_faults(error)


TEXT = """\
# a comment
name: demo
list:
- one
-   two
folded: >-

  first
  second

literal: |
  a
  b
empty:
flow: {a: [1, 2],
  b: 3}
"""


@pytest.mark.parametrize(
    ("path", "line", "column", "last", "key"),
    [
        ((), 2, 1, 16, (2, 1)),
        (("name",), 2, 7, 2, (2, 1)),
        (("list",), 4, 1, 5, (3, 1)),
        (("list", 1), 5, 5, 5, (5, 5)),
        (("folded",), 6, 9, 9, (6, 1)),
        (("literal",), 11, 10, 13, (11, 1)),
        (("empty",), 14, 7, 14, (14, 1)),
        (("flow",), 15, 7, 16, (15, 1)),
        (("flow", "a", 1), 15, 15, 15, (15, 15)),
    ],
)
@pytest.mark.parametrize("breaks", ["\n", "\r\n", "\r"])
def test_locations_match_the_file(
    path: Path, line: int, column: int, last: int, key: tuple[int, int], breaks: str
) -> None:
    span = read(TEXT.replace("\n", breaks), file="job.yaml").spans[path]
    assert (span.line, span.column, span.last_line) == (line, column, last)
    assert (span.key_line, span.key_column) == key


def test_block_text_starts_below_its_indicator() -> None:
    spans = read(TEXT, file="job.yaml").spans
    assert (spans[("literal",)].text_line, spans[("literal",)].literal) == (12, True)
    assert (spans[("folded",)].text_line, spans[("folded",)].literal) == (7, False)
    assert spans[("name",)].text_line == 2


def test_a_missing_key_has_the_location_of_its_parent() -> None:
    document = read(TEXT, file="job.yaml")
    assert str(document.location(("flow", "c", "d"))) == "job.yaml:15:1"
    assert str(document.location(("name",), key=True)) == "job.yaml:2:1"


def test_bytes_with_a_byte_order_mark() -> None:
    document = read("\ufeffname: ж\n".encode(), file="job.yaml")
    assert document.root == {"name": "ж"}
    assert document.spans[("name",)].column == 7


def test_utf16_is_named_in_the_error() -> None:
    with pytest.raises(ProtocolError, match="UTF-16"):
        read("name: demo\n".encode("utf-16"), file="job.yaml")


def test_keys_are_text() -> None:
    text = "1: a\ntrue: b\n~: c\n'x': d\n2020-01-01: e\n1.0: f\n"
    root = read(text, file="job.yaml").root
    assert root == {"1": "a", "true": "b", "~": "c", "x": "d", "2020-01-01": "e", "1.0": "f"}


def test_merge_keys() -> None:
    text = """\
base: &base {a: 1, b: 2}
more: &more {b: 3, c: 4}
one: {<<: *base, b: 9}
two: {b: 9, <<: *base}
both: {<<: [*base, *more]}
text: {'<<': 5}
"""
    document = read(text, file="job.yaml")
    root = document.root
    assert isinstance(root, dict)
    assert root["one"] == root["two"] == {"a": 1, "b": 9}
    assert root["both"] == {"a": 1, "b": 2, "c": 4}
    assert root["text"] == {"<<": 5}
    assert str(document.location(("both", "c"))) == "job.yaml:2:23"


def test_aliases_repeat_values() -> None:
    document = read("a: &a [x, {y: z}]\nb: *a\n", file="job.yaml")
    assert document.root == {"a": ["x", {"y": "z"}], "b": ["x", {"y": "z"}]}
    assert str(document.location(("b",))) == "job.yaml:2:4"
    assert str(document.location(("b", 1, "y"))) == "job.yaml:1:15"


def test_a_second_document_is_read_as_secrets() -> None:
    document = read("name: demo\n---\ntoken: x\n", file="job.yaml")
    assert document.secrets == {"token": "x"}
    assert [diagnostic.code for diagnostic in document.warnings] == ["W101"]


def test_all_errors_of_a_file_are_reported() -> None:
    with pytest.raises(ProtocolError) as caught:
        read("a: 1\na: 2\nb: !x 1\nc: *d\n", file="job.yaml")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E105", "E107", "E108"]


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("a: 1\n\t\nb: 2\n", {"a": 1, "b": 2}),
        ("a: 1\r\n\t\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("a:\n  - é\n \t \n  - y\n\t", {"a": ["é", "y"]}),
        ("\t\na:\n\t\n- a\n\t# c\n- c\n", {"a": ["a", "c"]}),
        ("a: x\n\t\n  y\n", {"a": "x\ny"}),
        ("\t\na: |\n  x\n  \t\n  y\n", {"a": "x\n\t\ny\n"}),
    ],
)
def test_a_tab_in_a_blank_line_is_ignored(text: str, root: Value) -> None:
    """js-yaml 3.13 reads each text so, and libyaml none of them."""
    assert read(text, file="job.yaml").root == root


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "a: |\n  x\n\t\n  y\n", "a:\n-\tb\n", "a: [1\n\t\nb: 2"])
def test_other_tabs_are_refused(text: str) -> None:
    """js-yaml 3.13 takes the first for `{a: null, b: 1}`."""
    with pytest.raises(ProtocolError) as caught:
        read(text, file="job.yaml")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E104"]


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_line_breaks_only_in_yaml_1_1_are_refused(character: str) -> None:
    """There libyaml would break the line, and js-yaml did not: the commands would be others."""
    with pytest.raises(ProtocolError) as caught:
        read(f'a: "x{character}y"\n', file="job.yaml")
    assert [(each.code, each.location and each.location.column) for each in caught.value.diagnostics] == [("E102", 6)]
    v1 = f'{{"jobName": "a", "taskRoles": [], "extras": {{"b": "{character}"}}}}'
    assert read(v1, file="job.json").at(("extras", "b")) == character


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 50_000, "? " * 50_000, "a: &a [*a" * 9000])
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(ProtocolError):
        read(text, file="job.yaml")
    assert time.monotonic() - start < 5


@pytest.mark.slow("megabytes of text")
@pytest.mark.parametrize(
    "text",
    [
        "- a\n" * 2_500_000,
        "a " * 500_000,
        "a: b\n" * 200_000,
        "]" * 1_000_000,
        "'" * 1_000_001,
        "&a " * 300_000,
    ],
    ids=["items", "words", "duplicates", "brackets", "quotes", "anchors"],
)
def test_large_invalid_files_are_refused_quickly(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(ProtocolError):
        read(text, file="job.yaml")
    assert time.monotonic() - start < 20


def test_a_large_text_is_read() -> None:
    text = "commands:\n- |\n" + "  echo a line of a long script\n" * 300_000
    root = read(text, file="job.yaml").root
    assert isinstance(root, dict)
    assert len(root["commands"][0]) > 8_000_000


def test_too_large_files_are_refused() -> None:
    with pytest.raises(ProtocolError, match="E103: the file is larger than"):
        read(b" " * (16 * 1024 * 1024 + 1), file="job.yaml")


def test_the_pure_python_loader_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(TEXT, file="job.yaml")
    monkeypatch.setattr(reading, "_LOADER", yaml.Loader)
    slow = read(TEXT, file="job.yaml")
    assert (slow.root, slow.spans) == (fast.root, fast.spans)
    with pytest.raises(ProtocolError):
        read("a: [1", file="job.yaml")
    with pytest.raises(ProtocolError):
        read("[" * 5000, file="job.yaml")


def test_path_text() -> None:
    assert path_text(("taskRoles", "ps-server", "commands", 0)) == "$.taskRoles.ps-server.commands[0]"
    assert path_text(("extras", 'a."b')) == '$.extras["a.\\"b"]'

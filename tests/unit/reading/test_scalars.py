"""Plain scalars mean what they meant to OpenPAI's server, and have the text that it gave them."""

from __future__ import annotations

import math

import pytest

from paislurm.translator.errors import ProtocolError
from paislurm.translator.protocol.expressions.texts import NotAStringError, js_string
from paislurm.translator.reading.document import Bytes, SourceInt, SourceText, Value
from paislurm.translator.reading.read import read


def value_of(text: str) -> Value:
    """Return the value that a text has as a plain scalar in a file."""
    root = read(f"key: {text}\n", file="job.yaml").root
    assert isinstance(root, dict)
    value: Value = root["key"]
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("tRue", "tRue"),
        ("", None),
        ("~", None),
        ("NULL", None),
        ("nil", "nil"),
        ("0", 0),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("010", 8),
        ("08", "08"),
        ("0x1F", 31),
        ("0b101", 5),
        ("0o17", "0o17"),
        ("1_000", 1000),
        ("1_", "1_"),
        ("1:30", 90),
        ("1:30:00", 5400),
        ("01:30:00", "01:30:00"),
        ("0:0", "0:0"),
        ("-1:30", -90),
        ("1:75", "1:75"),
        ("1:30.5", 90.5),
        ("1.0", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", "-.5"),
        ("1e3", 1000.0),
        ("1e-4", 0.0001),
        ("1E+2", 100.0),
        ("1e", "1e"),
        (".", "."),
        ("..", ".."),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("2020-01-01", SourceText("2020-01-01")),
        ("2020-01-01 10:00:00 +1", SourceText("2020-01-01 10:00:00 +1")),
        ("9" * 300, "9" * 300),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 1", 1.0),
        ("!!bool true", True),
        ("!!null ''", None),
        ("! 12", "12"),
        ("'12'", "12"),
        ('"1e3"', "1e3"),
    ],
)
def test_values(text: str, value: Value) -> None:
    found = value_of(text)
    assert found == value
    assert isinstance(found, type(value))


def test_infinities() -> None:
    assert value_of(".inf") == math.inf
    assert value_of("-.INF") == -math.inf
    assert math.isnan(float(str(value_of(".NaN"))))


def test_an_integer_keeps_its_spelling() -> None:
    value = value_of("1:30:00")
    assert isinstance(value, SourceInt)
    assert value.text == "1:30:00"
    assert not isinstance(value_of("12"), SourceInt)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("a<b>&'\"", "a<b>&'\""),
        (1.0, "1"),
        (0.01, "0.01"),
        (1e-4, "0.0001"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (1e3, "1000"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (123456.789, "123456.789"),
        (-0.0, "0"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (2**60, "1152921504606846976"),
        (SourceInt(8, "010"), "8"),
        (True, "true"),
        (False, "false"),
        ([1, "a", None, [2.0, True]], "1,a,,2,true"),
        ([], ""),
        (SourceText("2020-01-01"), "2020-01-01"),
    ],
)
def test_text(value: Value, text: str) -> None:
    assert js_string(value) == text


def test_null_has_no_text() -> None:
    assert js_string(None) is None


@pytest.mark.parametrize("value", [{}, {"a": 1}, [1, {"a": 1}]])
def test_a_mapping_is_refused(value: Value) -> None:
    with pytest.raises(NotAStringError):
        js_string(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!binary aGVsbG8=", "hello"),
        ("!!binary |\n  aGVs\n  bG8=", "hello"),
        ("!!binary 4oKs", "€"),
        ("!!binary /w==", "\ufffd"),
        ("!!binary ''", ""),
        ("!!set {a, b: null}", {"a": None, "b": None}),
        ("!!set", {}),
        ("!!omap [a: 1, b: {c: 2}]", [{"a": 1}, {"b": {"c": 2}}]),
        ("!!omap", []),
        ("!!pairs [a: 1, a: {b: 2}]", [["a", 1], ["a", {"b": 2}]]),
        ("!!pairs []", []),
        ("!!map", {}),
        ("!!seq", []),
        (r'"\ud83d\ude00"', "😀"),
        (r'["a\ud83d\ude00\U0001F600b", \ud83d, "\\ud83d"]', ["a😀😀b", r"\ud83d", r"\ud83d"]),
        (r'{"\ud83d\ude00": 1}', {"😀": 1}),
    ],
)
def test_additional_numbers_of_js_yaml_are_read(text: str, value: Value) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("!!binary aGVsbG8", "E107"),
        ("!!binary a b=", "E107"),
        ("!!binary ____", "E107"),
        ("!!binary AAAA", "E102"),
        ("!!set {a: 1}", "E107"),
        ("!!set [a]", "E107"),
        ("!!omap [a: 1, a: 2]", "E107"),
        ("!!omap [{a: 1, b: 2}]", "E107"),
        ("!!omap [a]", "E107"),
        ("!!omap {a: 1}", "E107"),
        ("!!pairs [{}]", "E107"),
        ("!!pairs [a]", "E107"),
        ("!!pairs a", "E107"),
        (r'"\ud83d"', "E102"),
        (r'"\ude00\ud83d"', "E102"),
        (r'"\ud83d \ude00"', "E102"),
    ],
)
def test_texts_that_js_yaml_refuses_are_not_numbers(text: str, code: str) -> None:
    with pytest.raises(ProtocolError) as error:
        value_of(text)
    assert [diagnostic.code for diagnostic in error.value.diagnostics] == [code]


def test_binary_values_are_text_only_in_commands() -> None:
    assert js_string(value_of("!!binary aGVsbG8=")) == "hello"
    assert isinstance(value_of("!!binary aGVsbG8="), Bytes)

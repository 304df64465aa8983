"""References and their values. What is said of faults is in tests/rejected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.protocol.expressions.references import render
from paislurm.translator.protocol.expressions.texts import Moves
from paislurm.translator.reading.document import Value

ROOTS: dict[str, Value] = {
    "parameters": {
        "model": "resnet50",
        "lr": 1e-4,
        "epochs": 3.0,
        "flag": True,
        "empty": "",
        "null": None,
        "list": [1, "a", {"b": [2]}],
        "sizes": [32, 64],
        "tag": "<% $parameters.model %> %>",
        "learning rate": 0.5,
        "odd[x] name": {"a b": ["c"]},
        "html": "<a href='x'>&amp;\"",
        "map": {"3": "three", "two-words": "yes", "a": {"b": "deep"}},
    },
    "data": {"name": "cifar10", "uri": ["https://a", "https://b"], "custom": 5},
    "script": None,
    "output": None,
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("<% $parameters.model %>", "resnet50"),
        ("<%$parameters.model%>", "resnet50"),
        ("<%\n  $parameters.model\t%>", "resnet50"),
        ("a<% $parameters.lr %>b<% $parameters.epochs %>", "a0.0001b3"),
        ("<% $parameters.flag %>", "true"),
        ("[<% $parameters.empty %>]", "[]"),
        ("<% $parameters.sizes %>", "32,64"),
        ("<% $parameters.sizes[1] %> <% $parameters.sizes.1 %>", "64 64"),
        ("<% $parameters.list[2].b[0] %>", "2"),
        ("<% $parameters.map[3] %>", "three"),
        ("<% $parameters.map.two-words %>", "yes"),
        ("<% $parameters.map.a.b %>", "deep"),
        ("<% $parameters.html %>", "<a href='x'>&amp;\""),
        ("<% $parameters.tag %>", "<% $parameters.model %> %>"),
        ("<% $data.uri[0] %> <% $data.name %> <% $data.custom %>", "https://a cifar10 5"),
        ("<% $parameters.learning rate %>", "0.5"),
        ("<%\n$parameters.odd[x] name.a b[0]\n%>", "c"),
        ("a %> b", "a %> b"),
        ("50% < 60%", "50% < 60%"),
    ],
)
def test_references_are_replaced_by_values(text: str, result: str) -> None:
    rendered = render(text, ROOTS)
    assert rendered.text == result
    assert not rendered.problems


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("$parameters.nothing", "E313"),
        ("$parameters.null", "E313"),
        ("$parameters.sizes[2]", "E313"),
        ("$parameters.sizes[99999999999999999999]", "E313"),
        ("$parameters.sizes.x", "E313"),
        ("$parameters.model.x", "E313"),
        ("$parameters.model.length", "E313"),
        ("$parameters.", "E313"),
        ("$parameters. model", "E313"),
        ("$parameters .model", "E313"),
        ("$parameters.learning  rate", "E313"),
        ("$parameters.sizes[01]", "E313"),
        ('$parameters["model"]', "E313"),
        ("$parameters[-1]", "E313"),
        ("$script.name", "E313"),
        ("$dockerImage.uri", "E313"),
        ("$Parameters.model", "E313"),
        ("parameters.model", "E313"),
        ("model", "E313"),
        ("", "E313"),
        ("this.parameters.model", "E313"),
        ("$parameters", "E314"),
        ("$parameters.map", "E314"),
        ("$parameters.list", "E314"),
        ("#x", "E312"),
        ("^x", "E312"),
        ("/x", "E312"),
        ("! a comment", "E312"),
        ("> partial", "E312"),
        ("& x", "E312"),
        ("{ x }", "E312"),
        ("= | | =", "E312"),
        ("$secrets.token", "E313"),
        ("$secrets.any.thing[0]", "E313"),
        ("$secrets", "E313"),
    ],
)
def test_invalid_references_are_reported(name: str, code: str) -> None:
    rendered = render(f"a <% {name} %> b", ROOTS)
    assert [(problem.offset, problem.code) for problem in rendered.problems] == [(2, code)]
    assert rendered.text == f"a <% {name} %> b"


def test_an_unclosed_reference_ends_the_search() -> None:
    rendered = render("<% $parameters.model %> <% a <% b", ROOTS)
    assert [(problem.offset, problem.code) for problem in rendered.problems] == [(24, "E311")]


@pytest.mark.parametrize(
    ("text", "result", "codes"),
    [
        ('printf "<%s>"', 'printf "<%s>"', []),
        ('printf "<%s>" <% $parameters.model %>', 'printf "<%s>" resnet50', []),
        ("<% $parameters.model", "<% $parameters.model", ["E311"]),
        ("<%this.parameters.x", "<%this.parameters.x", ["E311"]),
    ],
)
def test_partial_references_in_prerequisites_and_plugins_are_text(text: str, result: str, codes: list[str]) -> None:
    """OpenPAI's runtime looks there for whole references alone."""
    rendered = render(text, {**ROOTS, "this": {"parameters": {}}})
    assert ([problem.code for problem in rendered.problems], rendered.text) == (codes, result)


def test_unknown_references_can_be_kept_as_in_openpai() -> None:
    rendered = render("<%$parameters.x[0].y%> <% this.parameters.z %>", ROOTS, keep=True)
    assert rendered.text == "<% $parameters.x.0.y %> <% this.parameters.z %>"
    assert [problem.code for problem in rendered.problems] == ["W305", "W305"]


@given(st.text(max_size=80).filter(lambda text: "<%" not in text))
def test_text_without_references_is_unchanged(text: str) -> None:
    assert render(text, ROOTS).text == text


@given(
    st.text(max_size=30),
    st.text(max_size=30).filter(lambda text: "<%" not in text and not text.endswith("<")),
)
def test_values_are_not_rendered_again(value: str, around: str) -> None:
    rendered = render(f"{around}<% $parameters.x %>", {"parameters": {"x": value}})
    assert rendered.text == around + value


@given(st.lists(st.tuples(st.sampled_from("ab<\n"), st.booleans(), st.text("xy", max_size=4)), max_size=12))
def test_offsets_are_mapped_in_both_directions(parts: list[tuple[str, bool, str]]) -> None:
    old, new = "".join(part for part, _, _ in parts), ""
    replaced, expected = [], []
    for offset, (part, goes, value) in enumerate(parts):
        replaced += [(offset, offset + 1, len(value))] if goes else []
        expected += [(offset, len(new) + at) for at in range(len(value) if goes else 1)]
        new += value if goes else part
    moves = Moves(replaced)
    assert [moves.back(now) for _, now in expected] == [offset for offset, _ in expected]
    kept = [offset for offset, (_, goes, _) in enumerate(parts) if not goes]
    assert [new[moves.forward(offset) or 0] for offset in kept] == [old[offset] for offset in kept]


@given(st.lists(st.sampled_from(["a", "\n", "<% $parameters.model %>", "<% $parameters.sizes %>"]), max_size=12))
def test_offsets_of_unreplaced_text_are_mapped(parts: list[str]) -> None:
    text = "".join(parts)
    rendered = render(text, ROOTS)
    for offset, char in enumerate(text):
        moved = rendered.moved(offset)
        if moved is not None and char == "\n":
            assert rendered.text[moved] == char

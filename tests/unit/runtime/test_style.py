"""The bash of the runtime is for people who read it for the first time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[3] / "templates"
FILES = sorted([*TEMPLATES.glob("runtime/**/*.sh"), *TEMPLATES.glob("plugins/*.sh")])
FUNCTION = re.compile(r"^(\w+)\(\) \{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
TEXTS = re.compile(r"\$?'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
HEADERS = r"(?:if|elif|while|until|for)\b[^;]*(?:;[^;]*;[^;]*)?; (?:then|do)$"
TWO = re.compile(r"; (?!then$|do$|;)\S|\bthen \S|\bdo \S")
"""A second statement on a line."""
IN_DISGUISE = re.compile(r"^\s*(?:\[\[ ! (?:(?!&&).)* \]\]|\(\(!\w+\)\)|! \w[^|&;]*) \|\| ")
WIDTH = 100
LONGEST = 40
"""Lines of a function."""


def code_lines(file: Path) -> list[tuple[int, str]]:
    """Return the lines of bash, without comments, here-documents and what stands in quotes."""
    text = re.sub(r"(?m)(?:^|(?<=\s))#.*", "", file.read_text(encoding="utf-8"))
    text = re.sub(r"(?ms)<<'(\w+)'.*?^\1$", "", text)
    text = TEXTS.sub(lambda match: "''" + "\n" * match[0].count("\n"), text)
    return list(enumerate(text.split("\n"), start=1))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_scripts_follow_the_style_rules(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    found = [f"{number}: longer than {WIDTH}" for number, line in enumerate(text.split("\n"), 1) if len(line) > WIDTH]
    for number, line in code_lines(file):
        loop = re.sub(r"\(\([^)]*\)\)|\$\{[^}]*\}", "(())", line.strip())
        if TWO.search(loop) and not re.fullmatch(HEADERS, loop) and not re.match(r"\S+\)", loop):
            found.append(f"{number}: two statements on a line: {line.strip()}")
        if IN_DISGUISE.match(line):
            found.append(f"{number}: an `or` after a negation is an `if`: {line.strip()}")
    for name, body in FUNCTION.findall(text):
        if (length := body.count("\n") + 2) > LONGEST:
            found.append(f"{name} has {length} lines")
    assert found == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_the_first_line_states_the_purpose_of_the_file(file: Path) -> None:
    first = next(line for line in file.read_text(encoding="utf-8").split("\n") if line)
    assert re.match(r"# [A-Z=]", first), first


def test_each_style_rule_finds_its_violation() -> None:
    """Each rule finds its fault."""
    assert TWO.search("a; b")
    assert TWO.search("if x; then y; fi")
    assert re.fullmatch(HEADERS, "while read -r x; do")
    assert IN_DISGUISE.match("  [[ ! $x ]] || y")
    assert IN_DISGUISE.match("  ! f x || y")


def test_temporary_files_are_in_a_folder_that_was_checked() -> None:
    """In `temporary_folder`, or in a folder of the script's own."""
    found = [line for file in FILES for line in file.read_text(encoding="utf-8").split("\n") if "mktemp" in line]
    assert len(found) >= 4
    assert [line for line in found if "TMPDIR" in line or "/tmp" in line] == []

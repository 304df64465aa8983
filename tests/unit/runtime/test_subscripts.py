"""Bash evaluates a subscript in a name that it is given as text a second time: then `$(…)` in foreign words runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .bash import sourced

ROOT = Path(__file__).parents[3]
FILES = sorted(
    [*ROOT.glob("templates/**/*.sh"), *ROOT.glob("templates/**/*.j2"), *ROOT.glob("backends/ssh/remote/*.sh")]
)
COMMENTS = re.compile(r"(?m)(?:^|(?<=\s))#.*")
SUBSCRIPT = r"\[(?=[^]]*\$)(?:\$\{[^}]*\}|(?!\$\{)[^][]|\[[^]]*\])*\]"
AS_TEXT = re.compile(
    rf"(?:\b(?:unset|printf -v|read|declare|local|export|readonly)|(?<=\s)-v)\b[^\n;&|<'=]*?[\s\"]\w+{SUBSCRIPT}"
)
"""Builtins that read a subscript once more, and `[[ -v`."""
DECLARED = re.compile(r"\b(?:declare|local) -A ((?:\w+=\([^)]*\)\s*)+)")


def code(file: Path) -> str:
    return COMMENTS.sub("", file.read_text(encoding="utf-8"))


def associative() -> set[str]:
    """Return the names of all associative arrays."""
    declared = (match[1] for file in FILES for match in DECLARED.finditer(file.read_text(encoding="utf-8")))
    return {name for names in declared for name in re.findall(r"(\w+)=\(", names)}


def unsafe(text: str, names: set[str]) -> list[str]:
    """Return the subscripts that bash evaluates twice: those of builtins, and of associative arrays in arithmetic."""
    in_arithmetic = re.compile(rf"(?<![\w{{#!'])(?:{'|'.join(sorted(names))}){SUBSCRIPT}(?!\+?=(?!=))")
    return [match[0] for pattern in (AS_TEXT, in_arithmetic) for match in pattern.finditer(text)]


def test_no_subscript_is_evaluated_twice() -> None:
    names = associative()
    assert {"PSL_ADDRESS_OF", "waiting", "gone"} < names
    assert {str(file.relative_to(ROOT)): found for file in FILES if (found := unsafe(code(file), names))} == {}


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('unset "X[$word]"', 2),
        ("unset X[$word]", 2),
        ("[[ -v X[$word] ]]", 2),
        ('printf -v "X[$word]" %s 1', 2),
        ('read -r "X[$word]"', 2),
        ("((X[$word] == 1))", 1),
        ("((X[${Y[0]}] == 1))", 1),
        ("unset 'X[$word]'", 0),
        ("X[$word]=1 X[$word.${Y[$word]}]+=2", 0),
        ('((${X[$word]} == 1 && ${#X[$word]})); for key in "${!X[@]}"; do :; done', 0),
    ],
)
def test_each_unsafe_form_is_found(line: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "it.sh").write_text(line)
    assert len(unsafe(code(tmp_path / "it.sh"), {"X"})) == count


HOSTILE = ["$(touch${IFS}PWNED)", "x];y[$(touch${IFS}PWNED)", "`touch${IFS}PWNED`", "]", "@", "*", "a'b", 'a"b', "a\\b"]


@pytest.mark.parametrize("word", HOSTILE)
def test_words_of_scontrol_and_nodes_run_nothing(word: str, tmp_path: Path) -> None:
    """The address of a node, the names of nodes in the record of starts, and those in the output of a preflight."""
    (tmp_path / "claim").mkdir()
    (tmp_path / "claim/starts").write_text(f"1 - n1 {word}\n2 - n1\n3 - n1 {word}\n")
    (tmp_path / "srun").mkdir()
    (tmp_path / "preflight-first.0").write_text(f"{word} end\n")
    lines = """
        cd "$1"; foreign=$2
        scontrol() { printf 'NodeName=n1 NodeAddr=%s x\\n' "$foreign"; }
        getent() { printf '10.0.0.7 STREAM %s\\n' "$foreign"; }
        ask_slurm n1
        printf '%s %s;' "${PSL_ADDRESS_OF[n1]}" "${#PSL_ADDRESS_OF[@]}"
        log() { :; }; PSL_RESTARTS=''; find_lost_nodes
        PSL_SCRATCH=$PWD PSL_PREFLIGHT_SECONDS=1
        find_nodes_with() { components=(0) waiting[$foreign]=1; }; ask_nodes() { :; }
        blame_node() { printf 'blamed'; }; ask_for_preflight first x
        printf '%s' *
    """
    argv = ["bash", "-p", "-c", f"set -u\n{sourced(loss='requeue')}\n{lines}", "bash", str(tmp_path), word]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout == "10.0.0.7 1;claimlost-nodespreflight-first.0srun"

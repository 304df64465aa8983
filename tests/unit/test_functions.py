"""A function is read at a glance: it takes few arguments, and its end is in sight of its beginning."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("translator/**/*.py"), *ROOT.glob("backends/**/*.py"), *ROOT.glob("src/paislurm/*.py")])
MOST_ARGUMENTS = 6
MOST_LINES = 60
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_command(function: Function) -> bool:
    """Tell whether a function is a command: click passes it each option of the command line by name."""
    decorators = " ".join(ast.unparse(each) for each in function.decorator_list)
    return "click." in decorators or "command." in decorators


def arguments(function: Function) -> int:
    """Count the arguments of a function but for keyword-only ones with a default: these are settings of an API."""
    args = function.args
    positional = [arg for arg in (*args.posonlyargs, *args.args) if arg.arg not in ("self", "cls")]
    needed = [arg for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return len(positional) + len(needed)


def lines(function: Function) -> int:
    """Count the lines of a function; of a command, whose signature has a line for each option, those of its body."""
    first = function.body[0].lineno if is_command(function) else function.lineno
    return (function.end_lineno or 0) - first + 1


def faults(text: str) -> list[str]:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, Function)]
    many = [
        f"{each.name} takes {arguments(each)} arguments"
        for each in functions
        if arguments(each) > MOST_ARGUMENTS and not is_command(each)
    ]
    return many + [f"{each.name} has {lines(each)} lines" for each in functions if lines(each) > MOST_LINES]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_functions_are_small(file: Path) -> None:
    assert faults(file.read_text(encoding="utf-8")) == []


def test_long_functions_and_long_argument_lists_are_found() -> None:
    assert faults("def f(a, b, c, d, e, f, g): pass") == ["f takes 7 arguments"]
    assert faults("def f(a, b, c, d, *, e, f, g, h=1): pass") == ["f takes 7 arguments"]
    assert faults("@click.command()\ndef f(a, b, c, d, e, f, g): pass") == []
    assert faults("def f():\n" + "  a()\n" * 60) == ["f has 61 lines"]

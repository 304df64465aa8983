"""The reference of docs/reference/python.md, made of the code: `python -m tests.unit.api.page` remakes it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import paislurm

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "python.md"
BEGIN = "## Reference\n"
WITHOUT_FIELDS = ("Session", "JobRun", "Job", "Plan", "Site")
THINGS = {
    "compiler": (("compiler", "CompilerUses"), ("script", "ScriptUses")),
    "jobs": (("job", "JobUses"), ("job_change", "JobChangeUses")),
    "logs": (("log", "LogUses"),),
    "tasks": (("task", "TaskUses"),),
    "sweeps": (("sweep", "SweepUses"),),
    "sites": (("site", "SiteUses"),),
}
"""The properties of a Session that hold its use cases, each with its modules and classes."""
CLASSES = (
    ("app/session.py", "Session", "Session"),
    ("app/use_cases/run.py", "JobRun", "JobRun"),
    *(
        (f"{module.replace('.', '/')}.py", name, name)
        for module, names in paislurm._MODULES.items()
        for name in names.split()
        if name[0].isupper() and not name.endswith("Error") and name not in WITHOUT_FIELDS
    ),
    ("app/input/source.py", "JobFileOptions", "JobFileOptions"),
    ("errors.py", "Location", "Location"),
)
"""Modules, and classes with their names in the package."""
INTERNAL = ("printed",)
MAX_WIDTH = 100


def reference() -> str:
    """Return the reference: of each class what it is, its fields and its methods."""
    parts = [_class(file, name, public) for file, name, public in CLASSES]
    return "\n".join([*parts, _types(), _errors()])


def _tree(file: str) -> ast.Module:
    return ast.parse((ROOT / "src" / "paislurm" / "translator" / file).read_text(encoding="utf-8"))


def _node(file: str, name: str) -> ast.ClassDef:
    (found,) = (node for node in _tree(file).body if isinstance(node, ast.ClassDef) and node.name == name)
    return found


def _session() -> str:
    """Return how a session is made, and its use cases by thing."""
    found = _node("app/session.py", "Session")
    surroundings = _node("app/surroundings.py", "Surroundings").body
    (made,) = (each for each in surroundings if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    said = ["### Session\n", f"{_said(found)}\n", _signature("Session", made), ""]
    for thing, classes in THINGS.items():
        parts = [_node(f"app/use_cases/{module}_uses.py", name) for module, name in classes]
        said += [f"#### session.{thing}\n", f"{_said(parts[0])}\n"]
        said += [line for part in parts for line in _methods(f"Session.{thing}", part)]
    return "\n".join(said)


def _methods(prefix: str, part: ast.ClassDef) -> Iterator[str]:
    for method in part.body:
        if isinstance(method, ast.FunctionDef) and method.name not in INTERNAL and not method.name.startswith("_"):
            yield from (_signature(f"{prefix}.{method.name}", method), "", _said(method), "")


def _class(file: str, name: str, public: str) -> str:
    if public == "Session":
        return _session()
    found = _node(file, name)
    fields = [node for node in found.body if isinstance(node, ast.AnnAssign)]
    said = [f"### {public}\n", f"{_said(found)}\n"]
    base = ast.unparse(found.bases[0]) if found.bases else ""
    if base in [name for _, name, _ in CLASSES]:
        said.append(f"It has the fields and methods of `{base}`, and:\n")
    if fields:
        said += [line for each in fields for line in _field(each, found.body)]
        said.append("")
    said += _methods(public, found)
    return "\n".join(said)


def _field(field: ast.AnnAssign, body: list[ast.stmt]) -> Iterator[str]:
    """Yield the lines of a field, and of the docstring below it."""
    yield f"    {ast.unparse(field.target)}: {ast.unparse(field.annotation)}"
    after = next((later for each, later in pairwise(body) if each is field), None)
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        note = " ".join(str(after.value.value).split())
        yield from textwrap.wrap(note, MAX_WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)


def _said(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node)
    assert text, node.name
    return re.sub(r"(?m)^>>> (?:.+\n?)+", lambda found: f"```python\n{found[0].rstrip()}\n```\n", text).rstrip()


def _signature(name: str, method: ast.FunctionDef) -> str:
    """Return how a method is called, on as many lines as it takes, as a block of Markdown."""
    if any(isinstance(each, ast.Name) and each.id.endswith("property") for each in method.decorator_list):
        return f"    {name}: {ast.unparse(method.returns)}" if method.returns else f"    {name}"
    arguments = list(_arguments(method.args))
    returns = f" -> {ast.unparse(method.returns)}" if method.returns and method.name != "__init__" else ""
    line = f"    {name}({', '.join(arguments)}){returns}"
    if len(line) <= MAX_WIDTH:
        return line
    filled = fill(", ".join(arguments), MAX_WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return f"    {name}(\n{filled},\n    ){returns}"


def _arguments(found: ast.arguments) -> Iterator[str]:
    first = [*found.posonlyargs, *found.args]
    defaults: list[ast.expr | None] = [None] * (len(first) - len(found.defaults))
    for each, default in zip(first, [*defaults, *found.defaults], strict=True):
        if each.arg not in ("self", "cls"):
            yield _argument(each, default)
    if found.vararg:
        yield f"*{ast.unparse(found.vararg)}"
    elif found.kwonlyargs:
        yield "*"
    for each, default in zip(found.kwonlyargs, found.kw_defaults, strict=True):
        yield _argument(each, default)
    if found.kwarg:
        yield f"**{ast.unparse(found.kwarg)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default is not None else "")


def _types() -> str:
    """Return what stands for more than one type, with the sentence below each."""
    said = ["### Types\n"]
    for file in ("app/input/source.py", "app/jobs/logs/selection.py", "monitor/job_status.py"):
        body = _tree(file).body
        for node, after in pairwise(body):
            name, value = "", None
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "Alias" in ast.unparse(node):
                name, value = node.target.id, node.value
            elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
                name, value = ast.unparse(node.targets[0]), node.value
            if name and value and isinstance(after, ast.Expr):
                text = value.value if isinstance(value, ast.Constant) else ast.unparse(value)
                said += [f"    {name} = {text}", "", inspect.cleandoc(str(ast.literal_eval(after.value))), ""]
    return "\n".join(said)


def _errors() -> str:
    """Return the errors, as the module that has them shows them."""
    text = ast.get_docstring(_tree("errors.py"))
    assert text
    return "### Errors\n\n" + "".join(f"    {line}\n" if line else "\n" for line in text.splitlines()[2:])


def page() -> str:
    """Return the page with its reference made anew."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Who may import whom, and what is imported for a short command."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_IMPORT = {
    "job": {"wishes"},
    "wishes": set(),
    "errors": set(),
    "exit_spec": set(),
    "sbatch_forms": set(),
    "text_tables": set(),
    "protocol": {"job", "wishes", "errors", "sbatch_forms"},
    "site": {"wishes", "errors", "exit_spec", "protocol"},
    "planning": {"job", "wishes", "errors", "site", "text_tables"},
    "rendering": {"job", "errors", "exit_spec", "planning", "protocol", "sbatch_forms"},
    "monitoring": {"job", "errors", "exit_spec", "backends"},
    "convert": {"job", "errors", "protocol", "rendering"},
    "pipeline": {"job", "errors", "protocol", "site", "planning", "rendering"},
    "cli": {
        "job",
        "errors",
        "exit_spec",
        "protocol",
        "site",
        "planning",
        "rendering",
        "monitoring",
        "pipeline",
        "backends",
        "convert",
        "text_tables",
    },
    "backends": {"errors", "sbatch_forms"},
}
"""What the parts of the program import of one another, themselves aside."""
PURE = (
    "job.py",
    "wishes.py",
    "sbatch_forms.py",
    "text_tables.py",
    "exit_spec.py",
    "pipeline.py",
    "convert.py",
    "protocol",
    "planning",
    "rendering",
    *(
        f"monitoring/{name}.py"
        for name in ("standing", "tasks", "decide", "outcome", "history", "records", "events", "waits")
    ),
)
EFFECTS = {
    "os",
    "subprocess",
    "socket",
    "time",
    "random",
    "shutil",
    "tempfile",
    "threading",
    "pwd",
    "signal",
    "datetime",
}
PLAIN = {("datetime", "timedelta")}
"""Names of such modules that have no effects."""


def modules() -> list[Path]:
    return sorted([*ROOT.glob("translator/**/*.py"), *ROOT.glob("backends/**/*.py")])


def part_of(file: Path) -> str:
    """Return which part of the program a module belongs to."""
    folder, *rest = file.relative_to(ROOT).parts
    return "backends" if folder == "backends" else rest[0].removesuffix(".py")


def imported_parts(file: Path) -> set[str]:
    """Return the parts of the program that a module imports, for type checking alone too."""
    package = ("paislurm", *file.relative_to(ROOT).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            names = [(*module, alias.name) for alias in node.names]
        for name in names:
            if name[0] == "paislurm" and name[1:2] in (("translator",), ("backends",)):
                found.add("backends" if name[1] == "backends" else name[2])
    return found


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_run_one_way(file: Path) -> None:
    part = part_of(file)
    if part == "__init__":
        return
    others = imported_parts(file) - {part}
    assert others <= MAY_IMPORT[part], f"{part} must not import {others - MAY_IMPORT[part]}"


@pytest.mark.parametrize("part", PURE)
def test_pure_parts_import_nothing_that_has_effects(part: str) -> None:
    top = ROOT / "translator" / part
    files = [top] if top.is_file() else sorted(top.glob("**/*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            names: set[str] = set()
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                top_name = node.module.split(".")[0]
                names = {top_name for alias in node.names if (top_name, alias.name) not in PLAIN}
            assert not names & EFFECTS, f"{file.name} imports {names & EFFECTS}"


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["nonsense"]])
def test_help_is_cheap(argv: list[str]) -> None:
    code = (
        "import sys; from paislurm.translator.cli.main import main\n"
        f"main({argv!r})\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "pydantic_core", "jinja2", "rich", "yaml"}
    assert "click" in done.stderr.split()
    assert not heavy & set(done.stderr.split())

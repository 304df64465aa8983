"""Who may import whom, and what is imported for a short command."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.translator.cli.command_group import COMMANDS

ROOT = Path(__file__).parents[2]
MAX_COMMAND = 80
"""Lines of a command's module: it parses, calls a use case of `app` and prints."""
BASE = {
    *("errors", "exit_codes", "folded_names", "plural", "shipped", "slurm_options", "terminal_text"),
    "times",
}
MAY_IMPORT = {
    "files": set(),
    "shipped": set(),
    "terminal_text": set(),
    "errors": {"terminal_text"},
    "times": set(),
    "slurm_options": set(),
    "exit_codes": {"shipped"},
    "folded_names": set(),
    "plural": set(),
    "job": {"slurm_options"},
    "reading": {"errors"},
    "validation": {"errors", "times", "reading"},
    "protocol": {"errors", "plural", "slurm_options", "times", "job", "reading", "validation"},
    "site": {*BASE, "reading", "validation", "protocol"},
    "planning": {*BASE, "job", "validation", "site"},
    "rendering": {*BASE, "job", "reading", "protocol", "site", "planning"},
    "backends": {"errors", "files", "plural", "shipped", "slurm_options", "times"},
    "state": {*BASE, "files", "job", "backends"},
    "view": {*BASE, "state", "backends"},
    "monitor": {*BASE, "files", "job", "state", "backends", "view"},
    "report": {*BASE, "files", "planning", "state", "monitor", "backends", "view"},
    "conversion": {"job", "errors", "reading", "protocol", "rendering"},
    "pipeline": {"job", "errors", "reading", "protocol", "site", "planning", "rendering"},
    "app": {
        *BASE,
        "files",
        "job",
        "reading",
        "validation",
        "protocol",
        "site",
        "planning",
        "rendering",
        "backends",
        "state",
        "view",
        "monitor",
        "report",
        "conversion",
        "pipeline",
    },
    "cli": {"errors", "folded_names", "plural", "terminal_text", "times", "view", "app"},
    "api": {"job", "errors", "state", "view", "monitor", "pipeline", "app"},
}
"""What the parts of the program import of one another, themselves aside: each only of those above it."""
PURE = (
    "job.py",
    "terminal_text.py",
    "folded_names.py",
    "plural.py",
    "slurm_options.py",
    "pipeline.py",
    "conversion.py",
    "exit_codes",
    "reading",
    "validation",
    "protocol",
    "planning",
    "rendering",
    "report",
    "view",
    "app/what_if",
    *(f"state/{name}.py" for name in ("changes", "history", "journal_records", "run_record")),
    *(f"monitor/{name}.py" for name in ("job_status", "retry", "transition", "explained_waits", "job_failure")),
    *(f"monitor/{name}.py" for name in ("verdict", "verdict_reasons")),
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
PLAIN = {("datetime", "timedelta"), ("signal", "Signals")}
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


def test_imports_follow_the_layers() -> None:
    wrong = {}
    for file in modules():
        part = part_of(file)
        if part != "__init__" and (others := imported_parts(file) - {part} - MAY_IMPORT[part]):
            wrong[str(file.relative_to(ROOT))] = others
    assert wrong == {}, "what these must not import"


def test_the_app_layer_does_not_use_the_terminal() -> None:
    words = ("import click", "from click", "import rich", "from rich", "print(")
    texts = {file: file.read_text(encoding="utf-8") for file in (ROOT / "translator" / "app").rglob("*.py")}
    assert {file for file, text in texts.items() if any(f"\n{word}" in f"\n{text}" for word in words)} == set()


FRONT_DOOR = {"own_call", "user_name", "document_text", "json_schema"}
"""Functions about this process and about JSON, which are no use cases."""


def test_the_command_line_calls_use_cases_as_methods_of_a_session() -> None:
    found = {
        f"{file.name}: {name}"
        for file in (ROOT / "translator" / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ImportFrom) and ".app" in f".{node.module}".replace("screen.app", "")
        for name in (alias.name for alias in node.names)
        if name[0].islower() and name not in FRONT_DOOR
    }
    assert found == set()


def test_commands_only_parse_call_and_print() -> None:
    lines = {
        str(file): len(file.read_text(encoding="utf-8").splitlines())
        for file in (ROOT / "translator" / "cli" / "commands").rglob("*.py")
    }
    assert {file: count for file, count in lines.items() if count > MAX_COMMAND} == {}


def test_the_import_table_has_no_cycle() -> None:
    known: set[str] = set()
    for part, others in MAY_IMPORT.items():
        assert others <= known, f"{part} stands above {others - known}"
        known.add(part)


def levels() -> list[Path]:
    """Return every folder that has modules."""
    return sorted({file.parent for file in modules()})


def links(folder: Path) -> dict[str, set[str]]:
    """Return what the modules and folders of one folder import of one another as they are loaded."""
    found: dict[str, set[str]] = {}
    here = ("paislurm", *folder.relative_to(ROOT).parts)
    for file in folder.glob("**/*.py"):
        inner = file.relative_to(folder).parts[0].removesuffix(".py")
        for name in loaded(file):
            other = name[len(here)] if name[: len(here)] == here and len(name) > len(here) else inner
            if other != inner and ((folder / other).is_dir() or (folder / f"{other}.py").is_file()):
                found.setdefault(inner, set()).add(other)
    return found


def loaded(file: Path) -> Iterator[tuple[str, ...]]:
    """Return what a module imports when it is loaded, so not for type checking, nor inside functions."""
    package = ("paislurm", *file.relative_to(ROOT).parts[:-1])
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            yield from ((*module, alias.name) for alias in node.names)


def test_modules_in_a_folder_have_no_import_cycle() -> None:
    for folder in levels():
        found = links(folder)
        while free := {name for others in found.values() for name in others} - set(found):
            found = {name: rest for name, others in found.items() if (rest := others - free)}
        assert not found, f"in {folder} a circle is among {sorted(found)}"


@pytest.mark.parametrize("part", PURE)
def test_pure_modules_import_no_modules_with_side_effects(part: str) -> None:
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
def test_help_imports_few_packages(argv: list[str]) -> None:
    code = (
        "import sys; from paislurm.translator.cli.main import main\n"
        f"main({argv!r})\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "pydantic_core", "jinja2", "rich", "yaml"}
    assert "click" in done.stderr.split()
    assert not heavy & set(done.stderr.split())


HEAVY = {"pydantic", "pydantic_core", "jinja2", "rich", "yaml"}
FEW = 40
"""Modules of the program that `COMMAND --help` may load, of more than two hundred."""


def loaded_by(*argv: str, env: dict[str, str] | None = None) -> set[str]:
    """Return the names of all modules that are there when a command has ended, whatever it came to."""
    code = (
        "import sys; from paislurm.translator.cli.main import main\n"
        f"main({list(argv)!r})\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_does_not_import_its_implementation(name: str) -> None:
    found = loaded_by(name, "--help")
    assert not {module.partition(".")[0] for module in found} & {*HEAVY, "json", "pathlib", "subprocess", "difflib"}
    assert sum(module.startswith("paislurm.") for module in found) < FEW


def test_commands_that_show_jobs_do_not_import_the_compiler(tmp_path: Path) -> None:
    env = {**os.environ, "PAISLURM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    for argv in (["list"], ["status", "none"], ["logs", "none"]):
        found = loaded_by(*argv, env=env)
        assert "paislurm.translator.state.job_folder" in found
        assert not {module.partition(".")[0] for module in found} & HEAVY
        assert not any(module.startswith("paislurm.translator.protocol") for module in found)
        assert not found & {"hashlib", "shutil", "subprocess", "paislurm.backends.runner"} or argv[0] != "list"


@pytest.mark.parametrize("name", ["check", "plan"])
def test_compiling_imports_no_unused_library(name: str, tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    found = loaded_by(name, str(ROOT / "examples" / "hello-world.yaml"), env=env)
    assert "pydantic_core" in found
    assert "jinja2" not in found


def test_a_job_file_imports_only_its_own_protocol(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    found = loaded_by("check", str(ROOT / "examples" / "hello-world.yaml"), env=env)
    assert "paislurm.translator.protocol.v2.schema" in found
    for name in ("protocol.v1.schema", "protocol.v2.plugin_parameters", "conversion"):
        assert f"paislurm.translator.{name}" not in found


def test_compiling_builds_the_model_of_the_job_file_alone() -> None:
    code = (
        "from paislurm.translator.pipeline import compile_job\n"
        "from paislurm.translator.validation.strict_model import StrictModel\n"
        f"compile_job(open({str(ROOT / 'examples' / 'hello-world.yaml')!r}).read()).script\n"
        "models = StrictModel.__subclasses__()\n"
        "models += [each for model in models for each in model.__subclasses__()]\n"
        "print({model.__name__ for model in models if model.__pydantic_complete__})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'JobFile'}\n"


def test_annotations_of_models_are_no_text_that_pydantic_evaluates() -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in modules()}
    models = [file for file, text in texts.items() if re.search(r"^class \w+\((Strict|Open)Model", text, re.MULTILINE)]
    assert len(models) > 10
    lazy = {file.name for file in models if "from __future__ import annotations" in texts[file]}
    assert lazy == {"strict_model.py"}


def test_a_submit_imports_nothing_that_follows_the_job(tmp_path: Path) -> None:
    env = {**os.environ, "PAISLURM_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    words = ("submit", str(ROOT / "examples" / "hello-world.yaml"), "--dry-run", "--backend", "local")
    found = loaded_by(*words, env=env)
    assert "paislurm.translator.app.submit.submitting" in found
    assert "paislurm.translator.app.jobs.logs.following" not in found

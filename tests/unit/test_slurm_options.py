"""The page about Slurm's options has every one that a script or a backend can hand to Slurm, and no other."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from paislurm.translator.planning.slurm.components import BINDING_OPTIONS
from paislurm.translator.slurm_options import PASS_THROUGH
from tests.golden.remake import CASES, Case

ROOT = Path(__file__).parents[2]
PROGRAMS = ("sbatch", "srun", "scancel", "scontrol", "squeue", "sacct", "sacctmgr", "sinfo")
OPTION = re.compile(r"(?<![\w-])--[A-Za-z][a-z0-9-]+")
PAIRS_OF = {"step_options": ("srun",), "with_spare_nodes": ("srun",), "_cpus": ("sbatch", "srun")}
"""Functions of the planner whose options are not, or not only, sbatch's."""
PATTERNS = {"scancel", "scontrol"}
"""Programs that scripts call in one line each, with all of their options."""

Found = dict[str, set[str]]


def on_the_page() -> Found:
    page = (ROOT / "docs/reference/slurm-options.md").read_text(encoding="utf-8")
    found: Found = {}
    for program, table in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL):
        options = re.findall(r"^\| `(--[\w-]+)", table, re.MULTILINE)
        assert len(options) == len(set(options)), f"{program} has an option twice"
        assert options == sorted(options, key=str.lower)
        found[program] = set(options)
    # The page has these in a sentence.
    found["sbatch"] |= {f"--{name}" for name in PASS_THROUGH}
    return found


def in_the_planner() -> Found:
    """Return the names in all pairs `("name", value)` that the planner makes of options, and what it passes on."""
    found: Found = defaultdict(set, sbatch={f"--{name}" for name in PASS_THROUGH})
    for name in ("slurm/components", "infiniband"):
        tree = ast.parse((ROOT / f"translator/planning/{name}.py").read_bytes())
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for program in PAIRS_OF.get(function.name, ("sbatch",)):
                    found[program] |= set(_names_of_pairs(function))
    found["srun"] |= {f"--{name}" for name in BINDING_OPTIONS}
    return found


def _names_of_pairs(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Tuple(elts=[ast.Constant(value=str(name)), _]) if re.fullmatch(r"[a-z][a-z-]+", name):
                yield f"--{name}"


def in_the_backends() -> Found:
    """Return the options in all lists that begin with a program's name."""
    found: Found = defaultdict(set)
    for file in [*ROOT.glob("backends/*.py"), *ROOT.glob("backends/slurm/*.py"), *ROOT.glob("backends/local/*.py")]:
        for node in ast.walk(ast.parse(file.read_bytes())):
            match node:
                case ast.List(elts=[ast.Constant(value=str(program)), *_]) if program in PROGRAMS:
                    inner: list[object] = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
                    inner += [
                        f"--{each.id}"
                        for each in ast.walk(node)
                        if isinstance(each, ast.Name) and each.id == "clusters"
                    ]
                    found[program] |= {option for text in inner for option in OPTION.findall(str(text))}
                    if any(isinstance(each, ast.Name) and each.id == "clusters" for each in ast.walk(node)):
                        found[program].add("--clusters")
    return found


def in_the_templates() -> Found:
    """Return the options in the code of the script's runtime.

    In a file that runs srun all are srun's, but those of other programs and those that the script gives to itself.
    """
    found: Found = defaultdict(set)
    for file in sorted(ROOT.glob("templates/**/*.sh")):
        code = re.sub(r"^\s*#.*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
        runs_srun = re.search(r'(^|[\s(])srun( |$)[^|]|"\$\{PSL_SRUN', code, re.MULTILINE)
        for line in code.splitlines():
            others = [program for program in PATTERNS if re.search(rf"\b{program} ", line)]
            options = set(OPTION.findall(re.split(r'bash (?:-p )?"\$PSL_SCRIPT"', line)[0]))
            for program in others or (["srun"] if runs_srun else []):
                found[program] |= options
    return found


def in_the_head() -> Found:
    """Return the options of the srun of a role that the planner does not choose."""
    text = (ROOT / "translator/rendering/lines.py").read_text(encoding="utf-8")
    code = text.replace(" --task ", " ")
    named = {f"--{name}" for name in re.findall(r'option\("([\w-]+)"', code)}
    return {"srun": named | set(OPTION.findall(code))}


def test_the_page_lists_exactly_the_used_options() -> None:
    found: Found = defaultdict(set)
    for source in (in_the_planner(), in_the_backends(), in_the_templates(), in_the_head()):
        for program, options in source.items():
            found[program] |= options
    assert on_the_page() == dict(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_options_of_real_scripts_are_on_the_page(case: Case) -> None:
    job, text = (file.read_text(encoding="utf-8") for file in (case.job, case.folder / "job.sbatch"))
    sbatch = set(re.findall(r"^#SBATCH (--[\w-]+)", text, re.MULTILINE))
    srun = {
        option
        for line in re.findall(r"^srun_of_role_\d+\(\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        for option in OPTION.findall(line)
    }
    page = on_the_page()
    # The raw options of a job are its own.
    assert {option for option in sbatch - page["sbatch"] if option not in job} == set()
    assert srun - {"--task"} <= page["srun"]
    assert sbatch


def test_options_are_found_in_all_sources() -> None:
    assert {"--no-requeue", "--signal", "--switches"} <= in_the_planner()["sbatch"]
    assert {"--exact", "--gpus-per-task"} <= in_the_planner()["srun"]
    assert {"--parsable", "--exclude"} <= in_the_backends()["sbatch"]
    assert {"--het-group", "--pty"} <= in_the_templates()["srun"]
    assert {"--distribution", "--het-group", "--kill-on-bad-exit"} <= in_the_head()["srun"]
    assert "--task" not in in_the_templates()["srun"]
    assert in_the_templates()["scancel"] == {"--signal"}

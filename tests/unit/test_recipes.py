"""The recipes of CONTRIBUTING.md, carried out in a copy of the tree: no place is missing, and no step is idle."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec import Struct

ROOT = Path(__file__).parents[2]
PARTS = ("src", "translator", "backends", "templates", "tests", "docs", "examples", "install", "pyproject.toml")
JOB = """\
protocolVersion: 2
name: tried
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: "python:3.11"}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ["true"]
"""
GOLDEN = re.findall(
    r"^\t.* -m (tests\.\S+)$",
    (ROOT / "Makefile").read_text().partition("\ngolden:")[2].partition("\n\n")[0],
    re.MULTILINE,
)
"""The modules that `make golden` runs."""
TRY = f"""\
import os, runpy, sys
from paislurm.translator.cli.main import main
site = ["--site", "site.yaml"]
usual, more = ("script job.yaml --output job.sbatch", "explain job.yaml", "verify job.sbatch job.yaml"), sys.argv[1]
for words in (*usual, *filter(None, more.split(","))):
    if main([*words.split(), *(site if "job.yaml" in words else [])]):
        sys.exit(f"fails: {{words}}")
tests = sys.argv[2:]
del sys.argv[1:]
for module in {GOLDEN}:
    runpy.run_module(module, run_name="__main__")
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests])
"""
"""What a recipe is tried with: the commands, `make golden`, and tests."""
BLOCK = re.compile(r"^   ```(diff|sh)\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)


class Recipe(Struct, frozen=True):
    """Say what a recipe adds: a job and a site that use it, what is said of it, and the tests that see it.

    It is said by the script, by commands, and on `pages` that `make golden` writes.
    """

    title: str
    tests: tuple[str, ...]
    said: tuple[str, ...]
    job: str = JOB
    site: str = "name: tried\n"
    commands: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


RECIPES = (
    Recipe(
        "An option of sbatch that extras.slurm passes on",
        ("tests/unit/test_docs.py",),
        ("12        #SBATCH --licenses=matlab\n",),
        job=JOB + "extras: {slurm: {licenses: matlab}}\n",
    ),
    Recipe(
        "A key of the site profile",
        ("tests/unit/test_site_page.py",),
        ("#SBATCH --exclude=n9\n", "virtual cluster"),
        site="virtualClusters: {default: {exclude: n9}}\n",
    ),
    Recipe(
        "An error code",
        ("tests/unit/test_docs.py", "tests/rejected", "tests/unit/protocol/test_stricter.py", "-k", "rejected or docs"),
        ("W209",),
        job=JOB.replace("instances: 2", "instances: 6000"),
    ),
    Recipe(
        "A container runtime",
        ("tests/unit/site/test_known_sites.py", "tests/unit/rendering/test_verify.py"),
        ("# ==== containers/sarus ====", "# ==== images/sarus ====", "PSL_CONTAINER_RUNTIME='sarus'"),
        site="containers: {runtime: sarus, cache: /images}\n",
    ),
    Recipe(
        "A key of protocol v2",
        ("tests/unit/test_docs.py", "tests/unit/pages/test_job_files.py"),
        ("PSL_SHELL_OPTIONS[0]='-u -o pipefail'",),
        job=JOB.replace('["true"]', '["true"]\n    errexit: false'),
    ),
    Recipe(
        "A default",
        ("tests/unit/planning/test_slurm_target.py", "tests/unit/test_site_page.py"),
        ("PSL_GRACE=${PSL_GRACE-25}\n", '"grace": 25', "stops tasks. | `25` |"),
        commands=("plan job.yaml --json",),
        pages=("docs/reference/site-profile.md",),
    ),
    Recipe(
        "The text of a waiting job",
        ("tests/unit/backends/slurm/test_reasons.py",),
        ("it cannot start as it is: JobHeldUser: its owner holds it",),
        pages=("tests/frozen/shown/waiting-held.txt",),
    ),
    Recipe(
        "A state of Slurm",
        ("tests/unit/app/test_exit_meaning.py", "tests/unit/backends/slurm/test_output.py"),
        ("the site called the job back",),
        commands=("explain RECALLED",),
    ),
    Recipe(
        "A fact about a job",
        ("tests/unit/api", "tests/unit/cli/test_one_document.py"),
        ("role count       1", "role_count: 1", "The number of task roles."),
        pages=("tests/frozen/shown/succeeded.txt", "docs/reference/json.md"),
    ),
)


OVER_TABLES = (
    *("tests/unit/site", "tests/unit/rendering/test_verify.py", "tests/unit/runtime/test_parts.py"),
    *("tests/unit/test_docs.py", "tests/unit/test_slurm_options.py", "tests/unit/test_commands_page.py"),
    *("tests/golden/test_golden.py", "tests/rejected"),
)


def blocks(title: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each block of a recipe."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return [(kind, re.sub(r"(?m)^   ", "", text)) for kind, text in BLOCK.findall(section)]


def carry_out(tree: Path, kind: str, text: str) -> None:
    """Change a file as a block says, or run its command."""
    if kind == "sh":
        subprocess.run(text.removeprefix("$ "), shell=True, cwd=tree, check=True)
        return
    name, _, hunks = text.removeprefix("--- ").partition("\n")
    file = tree / name
    for hunk in hunks.split("@@\n"):
        lines = [line or " " for line in hunk.removesuffix("\n").split("\n")]
        old = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        before = file.read_text(encoding="utf-8") if old else ""
        assert not old or before.count(old) == 1, f"{name} does not have once: {old}"
        file.write_text(before.replace(old, new) if old else new, encoding="utf-8")


def copy(tree: Path) -> None:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tree / part, symlinks=True)
        else:
            shutil.copy(source, tree / part)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tree)


def faults(tree: Path, recipe: Recipe) -> str:
    """Return what is wrong in a copy after a recipe: compile, explain, verify and document with it; "" for nothing."""
    (tree / "job.yaml").write_text(recipe.job)
    (tree / "site.yaml").write_text(recipe.site)
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PAISLURM_HOME": str(tree / "home")}
    done = subprocess.run(
        [sys.executable, "-c", TRY, ",".join(recipe.commands), *recipe.tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        return done.stdout
    said = "".join([done.stdout, *((tree / name).read_text() for name in ("job.sbatch", *recipe.pages))])
    return "".join(f"nothing says {words}\n" for words in recipe.said if words not in said)


@pytest.mark.slow("compiles and tests in a copy of the tree")
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_each_recipe_is_complete(tmp_path: Path, recipe: Recipe) -> None:
    copy(tmp_path)
    for kind, text in blocks(recipe.title):
        carry_out(tmp_path, kind, text)
    assert faults(tmp_path, recipe) == ""


@pytest.mark.slow("runs a thousand tests in a copy of the tree")
@pytest.mark.timeout(900)
def test_tests_that_go_over_tables_pass_after_all_recipes(tmp_path: Path) -> None:
    """A reader runs `make unit`: of its tests, those that go over what the recipes change."""
    copy(tmp_path)
    for recipe in RECIPES:
        for kind, text in blocks(recipe.title):
            carry_out(tmp_path, kind, text)
    assert faults(tmp_path, Recipe("all of them", (*OVER_TABLES, "-m", "not slow and not root"), ())) == ""


STEPS = [
    pytest.param(recipe, step, id=f"{recipe.title}: {step + 1}")
    for recipe in RECIPES
    for step in range(len(blocks(recipe.title)))
]


@pytest.mark.slow("compiles and tests in a copy of the tree")
@pytest.mark.parametrize(("recipe", "left_out"), STEPS)
def test_a_missing_step_is_detected(tmp_path: Path, recipe: Recipe, left_out: int) -> None:
    copy(tmp_path)
    for step, (kind, text) in enumerate(blocks(recipe.title)):
        if step != left_out:
            carry_out(tmp_path, kind, text)
    assert faults(tmp_path, recipe) != ""


def test_an_edit_requires_its_context(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("a\nb\n")
    carry_out(
        tmp_path,
        "diff",
        dedent("""\
        --- page
         a
        +new
        """),
    )
    assert (tmp_path / "page").read_text() == "a\nnew\nb\n"
    with pytest.raises(AssertionError, match="does not have once"):
        carry_out(tmp_path, "diff", "--- page\n c\n+d\n")

"""The pages say what the program does: codes, keys, files."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from paislurm.translator.pipeline import compile_job
from paislurm.translator.protocol.extras_slurm import SlurmCompat, SlurmExtras, SlurmRole, SlurmV1
from paislurm.translator.validation.diagnostic_codes import ALL, CODES
from paislurm.translator.validation.strict_model import StrictModel

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [*ROOT.glob("translator/**/*.py"), *ROOT.glob("backends/**/*.py")]
CODE = re.compile(r'"([EW]\d{3})"')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_existing_targets(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    names = re.findall(
        r"`((?:translator|templates|backends|tests|examples|docs)/[\w./-]+)`", page.read_text(encoding="utf-8")
    )
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_every_code_is_listed_and_used() -> None:
    listing = ROOT / "translator" / "validation" / "diagnostic_codes.py"
    used = {code for file in SOURCES if file != listing for code in CODE.findall(file.read_text(encoding="utf-8"))}
    used |= {code for code in CODES if code[1:3] in ("45", "20")}  # made of a first number and the kind of the fault
    assert used == set(ALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_codes_exist(page: Path) -> None:
    text = re.sub(r"(?ms)^ *```diff$.*?^ *```$", "", page.read_text(encoding="utf-8"))
    assert set(re.findall(r"\b[EW]\d{3}\b", text)) <= set(ALL)


EXTRAS = ROOT / "docs/reference/extras-slurm.md"


@pytest.mark.parametrize(
    ("section", "model"),
    [("For the job", SlurmExtras), ("For a role", SlurmRole), ("compat", SlurmCompat), ("v1", SlurmV1)],
)
def test_the_extras_page_lists_every_key(section: str, model: type[StrictModel]) -> None:
    text = EXTRAS.read_text(encoding="utf-8")
    (table,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    keys = [field.alias or name for name, field in model.model_fields.items()]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    assert sorted(key for row in rows for key in re.findall(r"\w+", row)) == sorted(keys)


def test_the_example_on_the_extras_page_is_valid() -> None:
    text = EXTRAS.read_text(encoding="utf-8")
    (example,) = re.findall(r"\n\n((?:    .*\n)+)", text.partition("\n## ")[0])
    job = (ROOT / "examples/parameter-server.yaml").read_text(encoding="utf-8")
    script = compile_job((job + dedent(example)).encode()).script
    assert "#SBATCH --constraint=ib&a100\n" in script


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_no_file_contains_merge_conflict_markers(page: Path) -> None:
    assert not re.search(r"^(<{7}|>{7}|={7})( |$)", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_security_promise_names_an_existing_test() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named, file = [], ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?::(test_\w+)`", page):
        file = path or file
        named.append((file, name))
    missing = [
        (file, name) for file, name in named if f"\ndef {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert named
    assert missing == []

"""What the package offers: by name, in words, with types, and at the cost of what is used."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import paislurm
from paislurm.translator.app.session import Session
from paislurm.translator.app.submit import background

from .page import PAGE, THINGS, page

EXAMPLE = Path(__file__).parents[3] / "examples" / "api.py"
START = background._start
"""What starts a monitor; no other test does."""


def test_the_api_page_matches_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.unit.api.page"


def test_every_public_name_exists_and_has_a_docstring() -> None:
    for name in paislurm.__all__:
        value = getattr(paislurm, name)
        assert name == "__version__" or (value.__doc__ or "").strip(), name


def test_every_use_case_is_on_the_page() -> None:
    session = paislurm.Session()
    methods = {
        f"{thing}.{name}"
        for thing in THINGS
        for name, _ in inspect.getmembers(type(getattr(session, thing)), inspect.isfunction)
        if name[0] != "_"
    }
    found = re.findall(r"^    Session\.(\w+\.\w+)\(", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert methods == set(found)


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("import paislurm", {"json", "pathlib", "click", "pydantic_core", "yaml", "jinja2", "rich", "logging"}),
        ("import paislurm; paislurm.Session(); paislurm.jobs()", {"pydantic_core", "yaml", "jinja2", "rich"}),
        ("import paislurm; paislurm.submit, paislurm.wait", {"pydantic_core", "yaml", "jinja2", "rich", "logging"}),
    ],
)
def test_modules_are_imported_lazily(code: str, unused: set[str]) -> None:
    code = f"import sys; before = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded & (unused | {"paislurm"}) == {"paislurm"}


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "paislurm", "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"paislurm {paislurm.__version__}\n", "")


def test_a_background_monitor_uses_the_home_and_profile_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, str] = {}

    class Process:
        returncode = None

        def __init__(self, _: list[str], *, env: dict[str, str], **__: object) -> None:
            given.update(env)

    monkeypatch.setattr(background, "Popen", Process)
    monkeypatch.setenv("OTHER", "kept")
    (tmp_path / "home" / "monitor").mkdir(parents=True, mode=0o700)
    START(Session(home=tmp_path / "home", site="/site.yaml"))
    expected = {"PAISLURM_HOME": str(tmp_path / "home"), "PAISLURM_SITE": "/site.yaml", "OTHER": "kept"}
    assert given | expected == given


def test_the_example_prints_its_result(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False, timeout=120, env=dict(os.environ)
    )
    assert (done.stdout, done.stderr, done.returncode) == ("area: 42\n", "", 0)
    (folder,) = (home / "jobs").iterdir()
    first = json.loads((folder / "journal.jsonl").read_text().splitlines()[0])
    assert [first["run"][key] for key in ("parameters", "argv")] == [{"width": "6", "height": "7"}, []]


@pytest.mark.slow("type-checks the example with all that it imports")
def test_the_example_passes_the_type_checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import paislurm\npaislurm.submit('a', parameters={'a': []})\npaislurm.wait().state\n")

    def checked(file: Path) -> str:
        options = ("--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "types"))
        argv = [sys.executable, "-m", "mypy", *options, str(file)]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=280).stdout

    monkeypatch.setenv("MYPYPATH", str(EXAMPLE.parents[1] / "src"))
    assert checked(EXAMPLE).startswith("Success")
    assert re.findall(r"wrong\.py:(\d): error", checked(wrong)) == ["2", "3"]


def test_each_session_caches_its_own_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_new_backend", lambda *_: object())
    one, other = Session(), Session()
    assert one.backend("local") is one.backend("local") is not other.backend("local")

"""A Session is all that the application reads of the process: no environment and no clock beside it."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import paislurm
from paislurm.translator.app.sites import find as sites
from paislurm.translator.app.sites.ask import this_machine
from paislurm.translator.app.submit import background
from paislurm.translator.state.submit_environment import kept_environment

from ..cli.running import JOB

APP = Path(__file__).parents[3] / "translator" / "app"
OWNERS = (APP / "session.py", APP / "surroundings.py")
AMBIENT = {
    *("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.path.expanduser", "os.path.expandvars", "Path.home"),
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime", "datetime.now", "datetime.today"),
}
"""What reads the environment or the clock of the process."""
WITHOUT = {
    "shutil.which": "path",
    "subprocess.run": "env",
    "subprocess.Popen": "env",
    "Popen": "env",
}
"""What reads the environment of the process unless it gets this argument."""


def ambient(text: str) -> Iterator[str]:
    """Yield each place of a module that reads the environment or the clock of the process."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in AMBIENT:
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (f"{node.lineno}: {name}" for name in names if name in AMBIENT | {"shutil.which"})
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {keyword.arg for keyword in node.keywords}
            if WITHOUT.get(called) not in {*given, None} or called == "LocalRunner" or called.endswith(".expanduser"):
                yield f"{node.lineno}: {called}"


@pytest.mark.parametrize("module", sorted(APP.rglob("*.py")), ids=lambda path: str(path.relative_to(APP)))
def test_only_the_session_reads_the_environment_and_the_clock(module: Path) -> None:
    found = list(ambient(module.read_text(encoding="utf-8")))
    assert bool(found) is (module in OWNERS), found


@pytest.mark.parametrize(
    "line",
    [
        "os.environ.get('HOME')", "x = {**os.environ}", "os.path.expanduser(name)", "Path(name).expanduser()",
        "shutil.which('bash')", "subprocess.run(argv, check=False)", "Popen(argv)", "LocalRunner().run(argv)",
        "int(time.time())", "from time import time", "from os import environ",
    ],
)  # fmt: skip
def test_ambient_reads_are_found(line: str) -> None:
    assert list(ambient(line)) != []


def test_the_environment_of_a_session_replaces_that_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the search for a profile to the end of a job, whose tasks inherit it."""
    monkeypatch.setattr(sites, "SYSTEM", tmp_path / "etc" / "site.yaml")
    clock, monitors = 5_000_000_000.0, list[object]()
    monkeypatch.setattr(background, "_start", monitors.append)
    profile = tmp_path / ".config" / "paislurm" / "site.yaml"
    for path in (profile, tmp_path / "bin" / "enroot"):
        path.parent.mkdir(parents=True)
        path.write_text("name: own\n")
        path.chmod(0o755)
    environment = {"PATH": f"{os.environ['PATH']}:{tmp_path}/bin", "HOME": str(tmp_path), "WORD": "of the session"}
    for name in (*environment, "PAISLURM_HOME", "PAISLURM_SITE", "SLURM_JOB_ID", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "/of/the/process")
    session = paislurm.Session(environment=environment, clock=lambda: clock)
    job = (JOB.replace("echo and bye", "echo $WORD") + "jobRetryCount: 1\n").encode()

    assert sites.site_path(session, None) == profile
    machine = this_machine(session)
    assert (machine.home, "enroot" in machine.runtimes) == (tmp_path, True)
    assert [found.code for found in session.compiler.check(JOB.replace("echo and bye", "fi").encode())] == ["E350"]
    assert (tmp_path / ".cache" / "paislurm").is_dir()

    run = session.jobs.submit(job, backend="local")
    assert monitors == [session]
    assert kept_environment(run.folder) == environment
    status = run.wait(timeout=60)
    assert (status.state, status.submitted_at and status.submitted_at.timestamp()) == ("SUCCEEDED", clock)
    assert run.logs()["worker-0"].splitlines()[-1] == "of the session"
    assert run.folder.is_relative_to(tmp_path / ".paislurm")

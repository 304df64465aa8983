"""What commands cost before they do anything: CPU time, as the installed program starts.

The modules of the program are compiled, as they are where it is installed; `sbatch` and `squeue` are stand-ins that
answer at once.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import paislurm
from paislurm.translator.app.session import user_name
from paislurm.translator.cli.command_group import COMMANDS
from paislurm.translator.state.job_folder import JobFolder, Store
from paislurm.translator.state.journal_records import Created, Ended, JobRole, Submitted, dump

from .measure import Ratio, cpu_of_children, process, times_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PYTHON = os.path.realpath(sys.executable)
HELLO = str(Path(__file__).parents[2] / "examples" / "hello-world.yaml")
START = "from paislurm.translator.cli.start import run; run()"
JOBS = 1000
FIRST_ID = 1000
STARTED = 1_700_000_000
SBATCH = "#!/bin/sh\ncase $1 in --version) echo slurm 22.05.8 ;; *) cat >/dev/null; echo 42 ;; esac\n"
SUBMIT_SECONDS = 0.06
_times = partial(times_of, clock=cpu_of_children)
"""What users wait for is nearly all CPU time, which a busy machine changes less."""


def run() -> Iterator[Ratio]:
    """Yield the ratios, measured one after the other."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        yield from _help()
        yield from _compiling()
        yield from _jobs(folder)
        yield from _not_kept(folder)
        yield _submit(folder)


def python(*argv: str, **variables: str) -> list[str]:
    """Return a command line of this interpreter by its real path, with the packages of this environment.

    It keeps what it compiles, as it does for users; `variables` are set for it.
    """
    path = os.pathsep.join(path for path in sys.path if path)
    values = {"PYTHONPATH": path, **variables}
    return [
        "env", "--unset=PYTHONDONTWRITEBYTECODE", *(f"{name}={value}" for name, value in values.items()),
        PYTHON, "-S", *argv,
    ]  # fmt: skip


def _run(*words: str, **variables: str) -> Callable[[], object]:
    return process(python("-c", START, *words, **variables))


def _help() -> Iterator[Ratio]:
    nothing = process(python("-c", "pass"))
    completing = {"_PAISLURM_COMPLETE": "bash_complete", "COMP_WORDS": "paislurm sta", "COMP_CWORD": "1"}
    taken, completed, bare = _times(_run("--help"), _run(**completing), nothing)
    yield Ratio("paislurm --help : python -c pass", taken, bare, 4.5)
    yield Ratio("completing a word : python -c pass", completed, bare, 7)
    *times, bare = _times(*(_run(name, "--help") for name in COMMANDS), nothing)
    dearest = max(range(len(times)), key=times.__getitem__)
    yield Ratio(f"the dearest help, {list(COMMANDS)[dearest]} --help : python -c pass", times[dearest], bare, 6.5)


def _compiling() -> Iterator[Ratio]:
    words = ("check", "plan", "script")
    libraries = process(python("-c", "import yaml, pydantic, jinja2"))
    *times, floor, bare = _times(*(_run(word, HELLO) for word in words), libraries, process(python("-c", "pass")))
    for word, taken, limit in zip(words, times, (13, 13, 18), strict=True):
        yield Ratio(f"paislurm {word} hello-world : python -c pass", taken, bare, limit)
    yield Ratio("paislurm script hello-world : importing PyYAML, pydantic and Jinja2", times[-1], floor, 1.5)


def _jobs(folder: Path) -> Iterator[Ratio]:
    one, many = (_home(folder / f"home-{count}", count) for count in (1, JOBS))
    commands = (("list",), ("status", "job-0"), ("logs", "job-0", "worker-0"))
    for words in commands:
        # The first run keeps what jobs have come to.
        runs = [_run(*words, PAISLURM_HOME=home) for home in (one, many)]
        for first in runs:
            first()
        few, all_of_them, bare = _times(*runs, process(python("-c", "pass")))
        yield Ratio(f"paislurm {words[0]}, one job : python -c pass", few, bare, 8.5 if words[0] != "logs" else 10)
        limit = 1.5 if words[0] == "list" else 1.2
        yield Ratio(f"paislurm {words[0]}, {JOBS:,} jobs : one", all_of_them, few, limit)


def _home(home: Path, count: int) -> str:
    """Make a home with so many jobs that have ended, and return its path."""
    store, user = Store(home), user_name()
    role = JobRole(name="worker", folder="0-worker", instances=1)
    for number in range(count):
        name, at = f"job-{number}", STARTED + 60 * number
        folder = JobFolder(path=store.jobs / f"{user}~{name}")
        folder.path.mkdir(mode=0o700, parents=True)
        common = {"job": name, "user": user, "backend": "slurm"}
        job_id = str(FIRST_ID + number)
        records = (
            Created(happened_at=at, roles=(role,), **common),
            Submitted(happened_at=at, attempt=0, job_id=job_id, task_count=1, **common),
            Ended(
                happened_at=at + 9, attempt=0, state="SUCCEEDED", exit_code=0, reason="all tasks have succeeded",
                backend_state="COMPLETED", started_at=at + 1, ended_at=at + 8, completed=1,
            ),
        )  # fmt: skip
        folder.journal.write_bytes(b"".join(map(dump, records)))
        log = folder.log(0, role, 0, 0, "stdout")
        log.parent.mkdir(parents=True)
        log.write_text("hello\n", encoding="utf-8")
    for each in (home, store.jobs):
        each.chmod(0o700)
    return str(home)


def _not_kept(folder: Path) -> Iterator[Ratio]:
    """Compare a program that was never compiled and may not be, and one that was."""
    package = folder / "installed" / "paislurm"
    shutil.copytree(Path(paislurm.__path__[0]), package, ignore=shutil.ignore_patterns("__pycache__"))
    path = os.pathsep.join([str(package.parent), *(path for path in sys.path if path)])
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    unkept = partial(_run, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", XDG_CACHE_HOME=str(cache))
    for words in (("--help",), ("script", HELLO)):
        unkept(*words)()
        taken, plain = _times(unkept(*words), _run(*words))
        yield Ratio(f"paislurm {words[0]}, never compiled, PYTHONDONTWRITEBYTECODE : compiled", taken, plain, 1.3)


def _submit(folder: Path) -> Ratio:
    """Compare what submitting takes beyond the script and the two calls of sbatch with a number of seconds."""
    programs, home = folder / "bin", folder / "home-submit"
    programs.mkdir()
    sbatch = programs / "sbatch"
    sbatch.write_text(SBATCH, encoding="ascii")
    sbatch.chmod(0o755)
    site = folder / "site.yaml"
    site.write_text("monitor: {background: false}\n", encoding="ascii")
    variables = {"PAISLURM_HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "PAISLURM_SITE": str(site)}

    def submit() -> None:
        shutil.rmtree(home / "jobs", ignore_errors=True)
        _run("submit", HELLO, **variables)()

    submit()
    called = process(["sh", "-c", f"{sbatch} </dev/null"])
    taken, script, bare = _times(submit, _run("script", HELLO, **variables), called)
    what = f"paislurm submit, beyond script and sbatch : {SUBMIT_SECONDS} s"
    return Ratio(what, taken - script - bare, SUBMIT_SECONDS, 1)

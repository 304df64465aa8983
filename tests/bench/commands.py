"""What commands cost before they do anything: CPU time, as the installed program starts.

The modules of the program are compiled, as they are where it is installed; `sbatch` and `squeue` are stand-ins that
answer at once.
"""

from __future__ import annotations

import os
import shutil
import sys
import venv
from functools import cache, partial
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

HELLO = str(Path(__file__).parents[2] / "examples" / "hello-world.yaml")
START = "from paislurm.translator.cli.start import run; run()"
JOBS = 1000
FIRST_ID = 1000
STARTED = 1_700_000_000
SBATCH = "#!/bin/sh\ncase $1 in --version) echo slurm 22.05.8 ;; *) cat >/dev/null; echo 42 ;; esac\n"
STARTS = {
    ("--help",): 4.5, ("check", HELLO): 18, ("plan", HELLO): 18, ("script", HELLO): 21, ("list",): 8.5,
    ("status", "job-0"): 9, ("logs", "job-0", "worker-0"): 9, ("submit", HELLO): 25,
}  # fmt: skip
"""Commands, and how many times as long as `python -c pass` each may take."""
_times = partial(times_of, clock=cpu_of_children)
"""What users wait for is nearly all CPU time, which a busy machine changes less."""


def run(*, base: str | None = None) -> Iterator[Ratio]:
    """Yield the ratios, measured one after the other; `base` is a wheel to compare the commands with."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        yield from _help()
        yield from _starts(folder, base)
        yield from _libraries()
        yield from _many(folder)
        yield from _not_kept(folder)


@cache
def _environment() -> TemporaryDirectory[str]:
    """Make a virtual environment of this interpreter; its start imports no other packages, as where a wheel is."""
    folder = TemporaryDirectory()
    venv.create(folder.name, symlinks=True)
    return folder


def python(*argv: str, **variables: str) -> list[str]:
    """Return a command line of this interpreter, with the packages of this environment.

    It keeps what it compiles, as it does for users; `variables` are set for it.
    """
    path = os.pathsep.join(path for path in sys.path if path)
    values = {"PYTHONPATH": path, **variables}
    return [
        "env", "--unset=PYTHONDONTWRITEBYTECODE", *(f"{name}={value}" for name, value in values.items()),
        f"{_environment().name}/bin/python", *argv,
    ]  # fmt: skip


def _run(*words: str, **variables: str) -> Callable[[], object]:
    return process(python("-c", START, *words, **variables))


def _help() -> Iterator[Ratio]:
    nothing = process(python("-c", "pass"))
    completing = {"_PAISLURM_COMPLETE": "bash_complete", "COMP_WORDS": "paislurm sta", "COMP_CWORD": "1"}
    completed, bare = _times(_run(**completing), nothing)
    yield Ratio("completing a word : python -c pass", completed, bare, 7)
    *times, bare = _times(*(_run(name, "--help") for name in COMMANDS), nothing)
    dearest = max(range(len(times)), key=times.__getitem__)
    yield Ratio(f"the dearest help, {list(COMMANDS)[dearest]} --help : python -c pass", times[dearest], bare, 6.5)


def _starts(folder: Path, base: str | None) -> Iterator[Ratio]:
    """Compare each command with `python -c pass`, and with the same command of a wheel."""
    home, programs, site = folder / "home", folder / "bin", folder / "site.yaml"
    programs.mkdir()
    (programs / "sbatch").write_text(SBATCH, encoding="ascii")
    (programs / "sbatch").chmod(0o755)
    site.write_text("monitor: {background: false}\n", encoding="ascii")
    variables = {"PAISLURM_SITE": str(site), "PATH": f"{programs}:{os.environ['PATH']}"}
    paths = [os.pathsep.join(path for path in sys.path if path)]
    if base:
        shutil.unpack_archive(base, folder / "base", "zip")
        paths.insert(0, f"{folder / 'base'}:{paths[0]}")
    one = _home(folder / "home-of-one", 1)
    for words, limit in STARTS.items():
        own_home = str(home) if words[0] == "submit" else one

        def started(run: Callable[[], object]) -> object:
            shutil.rmtree(home, ignore_errors=True)
            return run()

        runs = [partial(started, _run(*words, PAISLURM_HOME=own_home, PYTHONPATH=path, **variables)) for path in paths]
        for first in runs:
            first()
        *of_base, taken, bare = _times(*runs, process(python("-c", "pass")))
        yield Ratio(f"paislurm {words[0]} : python -c pass", taken, bare, limit)
        for other in of_base:
            yield Ratio(f"paislurm {words[0]} : that of {Path(str(base)).name}", taken, other, 1.05)


def _libraries() -> Iterator[Ratio]:
    taken, floor = _times(_run("script", HELLO), process(python("-c", "import yaml, pydantic, jinja2")))
    yield Ratio("paislurm script hello-world : importing PyYAML, pydantic and Jinja2", taken, floor, 1.5)


def _many(folder: Path) -> Iterator[Ratio]:
    one, many = (_home(folder / f"home-{count}", count) for count in (1, JOBS))
    for words in (("list",), ("status", "job-0"), ("logs", "job-0", "worker-0")):
        # The first run keeps what jobs have come to.
        runs = [_run(*words, PAISLURM_HOME=home) for home in (many, one)]
        for first in runs:
            first()
        all_of_them, few = _times(*runs)
        yield Ratio(f"paislurm {words[0]}, {JOBS:,} jobs : one", all_of_them, few, 1.5 if words[0] == "list" else 1.2)


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

"""Show each recorded job by the command line; as a script, write down what it shows.

Nothing here is the machine's: the clock stands still, the user is alice, and Slurm's programs answer as recorded.
"""

from __future__ import annotations

import html
import io
import itertools
import json
import os
import pwd
import re
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from paislurm import __version__
from paislurm.backends.local import backend as local
from paislurm.backends.runner import Completed, LocalRunner
from paislurm.backends.slurm.commands import TIMES
from paislurm.backends.ssh import transport
from paislurm.backends.ssh.ssh_runner import SshRunner
from paislurm.translator.app import session
from paislurm.translator.app.sites import find as sites
from paislurm.translator.cli.main import main
from paislurm.translator.files.lock import Lock
from paislurm.translator.files.shared_files import SharedFiles
from tests.unit.backends.ssh.here import Here

from .recording import CASES, HOME, SHOWN, THERE, Recording, load, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

HOST = "login"
USERS = {0: "root", 21001: "alice", 21002: "bob"}
"""The users of the cluster."""
UNKNOWN = "!slurm_load_jobs error: Invalid job id specified\n"
_INLINE = re.compile(r"</?(?:a|abbr|b|code|dd|em|small|span|strong|td|th|time)\b[^>]*>")


class Slurm:
    """Slurm's programs and quota, which answer from tables as the real ones would, in the columns that are wanted."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = {"scontrol": UNKNOWN} | answers
        self._numbers = itertools.count(9001)

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        program, given = argv[0], dict(word.partition("=")[::2] for word in argv)
        assert program in ("quota", "sacct", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "sstat"), argv
        answer = self._answers.get(program, "")
        if program in ("sacct", "squeue") and not answer.startswith("!"):
            is_in_seconds = options.get("env") == TIMES
            assert is_in_seconds or not re.search("%[VSe]|Start|End", given["--format"]), "the tables have seconds"
            answer = _rows(answer, given, "%i" if program == "squeue" else "JobID")
        if program == "sbatch" and not answer:
            answer = f"{next(self._numbers)}\n"
        if answer.startswith("!"):
            return Completed(status=1, stdout="", stderr=answer.replace("!", ""))
        return Completed(status=0, stdout=answer, stderr="")


def _rows(table: str, given: dict[str, str], key: str) -> str:
    """Return the rows and columns of a table that are asked for; of a job's runs the last alone, unless all are."""
    names, *lines = [line.split("|") for line in table.splitlines()] or [[]]
    found = [dict(zip(names, line, strict=True)) for line in lines]
    if wanted := given.get("--jobs", ""):
        found = [row for row in found if re.split(r"[+.]", row[key])[0] in wanted.split(",")]
    if "--allocations" in given:
        found = [row for row in found if "." not in row[key]]
    if "--duplicates" not in given:
        found = list({row[key]: row for row in found}.values())
    if key == "%i" and wanted and not found:
        return UNKNOWN
    columns = re.split("[,|]", given["--format"].replace("%t", "%T"))
    head = [] if "--noheader" in given else ["|".join(columns)]
    return "".join(f"{line}\n" for line in (*head, *("|".join(row[name] for name in columns) for row in found)))


def _modules_with(function: Callable[..., object]) -> list[ModuleType]:
    """Return the modules of the program that have imported a function by its name."""
    named = [module for module in list(sys.modules.values()) if module.__name__.startswith("paislurm.")]
    return [module for module in named if vars(module).get(function.__name__) is function]


@contextmanager
def world(recording: Recording) -> Iterator[Path]:
    """Have a home with the recorded files, at the time of the recording."""
    home = Path(tempfile.mkdtemp(prefix="paislurm", dir="/tmp"))
    assert len(str(home)) == len(HOME)
    slurm, now, uname, mask = Slurm(recording.answers), float(recording.now), os.uname(), os.umask(0o077)
    there = Here(home / THERE)
    there.program("date", f"echo {recording.now}.0")
    defaults = session.Session.__init__.__kwdefaults__ or {}
    environment = {
        "HOME": str(home), "PAISLURM_HOME": str(home), "PAISLURM_SITE": f"{home}/site.yaml", "PATH": os.environ["PATH"],
        "COLUMNS": "110", "TZ": "UTC", "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    try:
        with ExitStack() as stack:
            stack.enter_context(patch.dict(os.environ, environment, clear=True))
            for owner, name, value in (
                (time, "time", lambda: now),
                (Lock, "now", lambda _: int(now)),
                (SharedFiles, "now", lambda _: now),
                (pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=USERS[uid])),
                (session.Session.__init__, "__kwdefaults__", {**defaults, "clock": lambda: now}),
                *((module, "user_name", lambda: "alice") for module in _modules_with(session.user_name)),
                (os, "uname", lambda: os.uname_result((uname[0], HOST, *uname[2:]))),
                (sites, "SYSTEM", home / "no-profile"),
                (local, "_start", lambda *_: ""),
                (LocalRunner, "run", lambda _, argv, **options: slurm.run(argv, **options)),
                (SshRunner, "run", lambda _, argv, **options: slurm.run(argv, **options)),
                (transport, "choose_transport", lambda *_: there),
            ):
                stack.enter_context(patch.object(owner, name, value))
            time.tzset()
            unpack(recording, home)
            yield home
    finally:
        time.tzset()
        os.umask(mask)
        shutil.rmtree(home)


def printed(*argv: str) -> str:
    """Return what a command prints, on standard error with a mark, and its exit status if there is one."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = main(argv)
    text, said = (stream.buffer.getvalue().decode() for stream in (out, err))
    if "--json" in argv and text:
        text = "".join(_lines(json.loads(text)))
    warned = "".join(f"! {line}\n" for line in said.splitlines())
    return f"$ paislurm {' '.join(argv)}\n{text}{warned}" + f"> {status}\n" * bool(status)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield a document, a line for each key, and for each object of a list."""
    for key, value in document.items():
        is_table = isinstance(value, list) and value and isinstance(value[0], dict)
        yield f"{key}:\n" if is_table else f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
        yield from (f"  {json.dumps(each, ensure_ascii=False)}\n" for each in (value if is_table else ()))


def words_of(page: str) -> str:
    """Return the text of a page but for the script: a line for each row, paragraph and label of a chart."""
    page = re.sub(r'(?s)<(style|script)>.*?</\1>|<div class="narrow">.*?</div>|<section id="source".*', "", page)
    page = re.sub(r"</dt>\s*", ": ", re.sub(r"</t[dh]>\s*(?!</tr>)", " | ", page))
    lines = html.unescape(re.sub(r"<[^>]*>", "\n", _INLINE.sub("", page))).splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip()).replace(__version__, "VERSION")


def shown(name: str) -> bytes:
    """Return what the commands show of a recorded case, and what they add to the journals of its jobs."""
    recording = load(name)
    with world(recording) as home:
        journals = {path: path.read_bytes() for path in sorted(home.glob("jobs/*/journal.jsonl"))}
        job, page = CASES[name].get("show") or next(iter(journals)).parent.name.partition("~")[2], home / "page.html"
        text = f"# {recording.title}\n" + printed("status", job) + printed("list", "--all")
        text += printed("status", "--json", job) + printed("list", "--all", "--json")
        text += printed("report", job, "-o", str(page))
        text += words_of(page.read_text(encoding="utf-8"))
        for path, before in journals.items():
            added = path.read_bytes().removeprefix(before)
            text += f"$ tail {path}\n{added.decode(errors='surrogateescape')}"
    return text.replace(str(home), HOME).encode(errors="surrogateescape")


def remake() -> None:
    """Write down what is shown of all cases, or of those that the arguments name."""
    for path in SHOWN.iterdir():
        if path.stem not in CASES:
            path.unlink()
    for name in sys.argv[1:] or CASES:
        (SHOWN / f"{name}.txt").write_bytes(shown(name))


if __name__ == "__main__":
    remake()

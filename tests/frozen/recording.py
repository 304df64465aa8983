"""The text of a recorded job: its files and Slurm's answers. `record.py` writes it, `replay.py` reads it.

| line | meaning |
| --- | --- |
| `# TEXT` | what the case is, and where it was recorded |
| `@ TIME` | the time of the recording, in seconds since 1970 |
| `= PATH TIME` | a file below the home, and its time; the lines that follow are its text |
| `$ PROGRAM` | a program of Slurm; the lines that follow are its answer, a table with the names of its columns |
| a bar and a text | a line |
| a backslash and a text | the last line of a file, if no line break ends it |
| `!` and a text | a line of the message with which the program fails |
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from msgspec import Struct

FOLDER = Path(__file__).parent
JOBS, SHOWN = FOLDER / "jobs", FOLDER / "shown"
CASES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "cases.yaml").read_text(encoding="utf-8"))
RECORDED = [name for name, case in CASES.items() if case["where"] in ("local", "slurm")]
"""The cases that were run; the others are made from these."""
NUL = "\u2400"
"""What stands for a byte of zeros."""
THERE = "there"
"""The home at a login node, below that here."""
HOME = "/home/alice/.paislurm"
"""The home in recordings. A replay has one of the same length, so that sizes and the widths of columns stay."""


class File(NamedTuple):
    """A file: its text, and its time in seconds since 1970."""

    text: str
    time: int


class Recording(Struct):
    """What was recorded of a case; `answers` has what the programs of Slurm print, `!` before a message of failure."""

    title: str
    now: int
    files: dict[str, File]
    answers: dict[str, str]

    def __str__(self) -> str:
        parts = [f"# {self.title}\n@ {self.now}\n"]
        for name, file in sorted(self.files.items()):
            *lines, last = file.text.split("\n")
            parts += [f"= {name} {file.time}\n", *(f"|{line}\n" for line in lines), *[f"\\{last}\n"] * bool(last)]
        for program, text in sorted(self.answers.items()):
            parts += [f"$ {program}\n", re.sub(r"^(?!!)", "|", text.rstrip("\n"), flags=re.MULTILINE), "\n"]
        return "".join(parts).replace("\0", NUL)


def parse(text: str) -> Recording:
    """Return the recording of a text."""
    head, *parts = re.split(r"^(?=[=$] )", text, flags=re.MULTILINE)
    title, now = re.findall(r"[#@] (.*)\n", head)
    found = Recording(title, int(now), {}, {})
    for part in parts:
        name, _, body = part[2:].partition("\n")
        lines = re.findall(r"([|\\!])(.*\n)", body.replace(NUL, "\0"))
        content = "".join({"|": line, "\\": line[:-1], "!": f"!{line}"}[mark] for mark, line in lines)
        if part.startswith("$"):
            found.answers[name] = content
        else:
            path, _, time = name.rpartition(" ")
            found.files[path] = File(content, int(time))
    return found


def load(name: str) -> Recording:
    """Read the recording of a case, or make it from that of another one; see `cases.yaml`."""
    if name in RECORDED:
        return parse((JOBS / f"{name}.txt").read_bytes().decode(errors="surrogateescape"))
    case = CASES[name]
    text, change = str(load(case["where"])), case.get("change", {})
    for pattern, new in change.get("replace", ()):
        text, count = re.subn(pattern, new, text)
        assert count, f"nothing in {case['where']} is like {pattern}"
    found = parse(text)
    (journal,) = [path for path in found.files if path.endswith("/journal.jsonl")]
    job, (known, time) = journal.removesuffix("/journal.jsonl"), found.files[journal]
    added = "".join(f"{line}\n" for line in change.get("append", ())).replace("NOW", str(found.now))
    found.files[journal] = File(known + added, time)
    for pattern in change.get("drop", ()):
        found.files = {path: file for path, file in found.files.items() if not fnmatch(path, f"{job}/{pattern}")}
    found.title = f"{case['what']} (from {case['where']}, {found.title.rpartition('(')[2]}"
    found.answers |= change.get("answers", {})
    found.now += change.get("later", 0)
    if case.get("remote"):
        # The files of its attempts are at the login node at which it was submitted.
        found.files[journal] = File(known.replace('"backend": "slurm"', '"backend": "ssh:login1"'), time)
        (tag,) = re.findall(r'"tag": "paislurm-([0-9a-f]+)"', known)
        there = f"{THERE}/.paislurm/remote/{job.partition('~')[2]}.{tag}/attempts/"
        moved = {path: path.replace(f"{job}/attempts/", there) for path in found.files if not path.endswith("sbatch")}
        found.files = {moved.get(path, path): file for path, file in found.files.items()}
    return found


def unpack(recording: Recording, home: Path) -> None:
    """Write the files below a home, with their times."""
    for name, file in recording.files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.text.replace(HOME, str(home)).encode(errors="surrogateescape"))
        os.utime(path, (file.time, file.time))

"""Which line of the commands failed: what their bash notes, in each bash, and that nothing else changes by it."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from paislurm.translator.app.failed_task import failed_lines
from paislurm.translator.state.task_reports import read_command_ends
from tests import bashes

from .bash import run

V2, V1 = "-e -u -o pipefail", ""


class Case(NamedTuple):
    """Commands, the status with which they end, and the first and last of the lines (from 1) of which one failed."""

    text: str
    status: int
    first: int
    last: int
    options: str = V2


def at(text: str, status: int, line: int, last: int = 0, options: str = V2) -> Case:
    return Case(text, status, line, last or line, options)


CASES = {
    "command": at("echo a\nfalse xyz\necho b", 1, 2),
    "first": at("false\necho b", 1, 1),
    "not found": at("echo a\nnosuch --fast\necho b", 127, 2),
    "cd": at("echo a\ncd /nosuch\necho b", 1, 2),
    "pipeline": at("echo a\nfalse | cat\necho b", 1, 2),
    "pipeline of lines": at("echo a\nfalse |\n  cat\necho b", 1, 2, 3),
    "and": at("echo a\ntrue && false\necho b", 1, 2),
    "and of lines": at("true &&\n  false\necho b", 1, 2),
    "and that goes on": at("false && echo x\necho a\nexit 4", 4, 3),
    "and at the end": at("echo a\nfalse && echo b", 1, 2),
    "and before comments": at("echo a\nfalse && echo b\n\n# end", 1, 2),
    "if": at("if true; then\n  echo a\n  false\nfi\necho b", 1, 3),
    "if at its end": at("echo a\nif true; then false; fi\necho b", 1, 2),
    "for": at("for i in 1 2; do\n  [ $i = 1 ]\ndone\necho b", 1, 2),
    "case": at("case a in\n  a) false ;;\nesac", 1, 2),
    "subshell": at("echo a\n(\n  false\n)\necho b", 1, 2, 4),
    "loop in a pipeline": at("for i in 1; do\n  false\ndone | cat", 1, 1, 3),
    "substitution": at("echo a\nx=$(false)\necho b", 1, 2),
    "continued": at("echo a\nls \\\n  /nosuch \\\n  -l\necho b", 2, 2),
    "here-document": at("cat /nosuch - <<X\na\nX\necho b", 1, 1),
    "function": at("f() {\n  echo a\n  false\n}\nf\necho b", 1, 3),
    "function with a status": at("f() { return 5; }\nfor i in 1; do\n  f\ndone", 5, 1),
    "function of a file": at("source ./functions\nif false; then\n  exit 6\nfi\nfail\necho b", 6, 5),
    "exit": at("echo a\nexit 3\necho b", 3, 2),
    "exit in a loop": at("echo a\nfor i in 1; do\n  echo $i\n  exit 3\ndone\necho b", 3, 4),
    "exit at one of two": at("if test -e /nosuch; then\n  exit 3\nfi\nexit 3\necho b", 3, 2, 4),
    "exit in a function": at("g() { exit 4; }\nf() {\n  g\n}\nfor i in 1; do\n  f\ndone", 4, 1),
    "or exit": at("test -e /nosuch || exit 9\necho b", 9, 1),
    "nounset": at("echo a\necho $nosuch\necho b", 1, 2),
    "nounset in a loop": at("for i in 1; do\n  echo $nosuch\n  echo b\ndone", 1, 2),
    "unset parameter": at("echo a\n: ${nosuch:?no}\necho b", 1, 2),
    "syntax": at("echo a\nfi\necho b", 2, 1, 3),
    "redirection": at("echo a\ncat </nosuch\necho b", 1, 2),
    "redirection of a loop": at("echo a\nfor i in 1; do\n  echo $i\ndone </nosuch\necho b", 1, 1, 5),
    "eval": at("echo a\neval 'true\nfalse'\necho b", 1, 2, 3),
    "eval of a variable": at("x='true\n\n\n\nnosuch'\neval \"$x\"\necho b", 127, 6),
    "source": at("echo a\nsource ./included\necho b", 1, 2),
    "script": at("echo a\nbash ./included\necho b", 1, 2),
    "signal of a child": at("echo a\nbash -c 'kill -SEGV $$'\necho b", 139, 2),
    "errexit off": at("set +e\nfalse\necho a\nfalse\necho b\nset -e\nexit 2", 2, 7),
    "errexit off to the end": at("set +e\nfalse\necho a\n[ a = b ]", 1, 4),
    "a line that only seems to have failed": at("nosuch || true\nfor i in 1; do\n  :\n  exit 127\ndone", 127, 4),
    "v1": at("false\necho a\nls /nosuch", 2, 3, options=V1),
    "v1 in a loop": at("false\nfor i in 1; do\n  false\n  false\ndone", 1, 1, 4, options=V1),
    "v1 in a loop with a condition": at(
        "for i in 1; do\n  while [ $i = 1 ]; do\n    i=2\n    false\n  done\ndone", 1, 1, 6, options=V1
    ),
    "v1 seems to have failed": at("nosuch\n[ a = b ]", 1, 2, options=V1),
    "only seems to have failed": at("nosuch || true\nbash ./included\necho b", 1, 2),
    "v1 pipeline": at("true\nfalse | false\n", 1, 2, options=V1),
    "v1 signal": at("true\nbash -c 'kill -SEGV $$'", 139, 2, options=V1),
    "v1 with errexit": at("set -e\necho a\nfalse\necho b", 1, 3, options=V1),
    "v1 exit": at("false\nexit 3\necho a", 3, 2, options=V1),
    "v1 function": at("f() {\n  false\n}\nf", 1, 2, options=V1),
    # Traps of the commands' own: as much as the other trap knows.
    "own ERR": at("trap 'echo own' ERR\necho a\nfalse\necho b", 1, 3),
    "own ERR in a loop": at("trap 'echo own' ERR\nfor i in 1; do\n  false\ndone", 1, 3),
    "own EXIT": at("trap 'echo own' EXIT\necho a\nfalse\necho b", 1, 3),
    "own EXIT and exit": at("trap 'echo own' EXIT\necho a\nexit 3\necho b", 3, 1, 4),
    "own EXIT that decides": at("trap 'exit 9' EXIT\necho a\nfalse\necho b", 9, 1, 4),
    "own EXIT that fails": at("echo a\ntrap 'echo own; false' EXIT\necho b", 1, 1, 3),
    "own DEBUG": at("trap 'echo own $BASH_COMMAND $LINENO' DEBUG\necho a\nfalse\necho b", 1, 3),
    "own all": at("trap 'echo own' ERR EXIT DEBUG\necho a\nfalse\necho b", 1, 1, 4),
    "own TERM": at("f() { exit 7; }\ntrap f TERM\necho a\nkill -TERM $$\necho b", 7, 4),
    # Bash itself is gone without a trap.
    "exec": at("echo a\nexec false", 1, 1, 2),
    "killed": at("echo a\nkill -KILL $$", -9, 1, 2),
}
SAME = {
    "last argument": "set +e\nfalse xyz\necho $_ $?",
    "statuses": "set +e\nfalse | true | false\necho ${PIPESTATUS[*]} $? $BASH_COMMAND $LINENO",
    "tracing": "set -x\necho a\nfalse",
    "separators": "IFS=,\nx=a,b\necho $x\nfalse",
    "inherited traps": "set -E\nf() { false; }\nf || echo no\n(trap 'echo own' ERR; false) || echo $?\nf",
    "exit of a subshell": "(trap 'echo own' EXIT; exit 3) || echo $?\nfalse",
    "options": "echo $- $SHELLOPTS $BASHPID $$ | tr -d 0-9\nfalse",
    "variables": "compgen -v | grep -v '^BASH_ENV$' | sort\ndeclare -F\nenv | grep -c BASH\nfalse",
    "descriptors": "ls /proc/$$/fd\nfalse",
    "no file descriptors left": "exec >&- 2>&-\nfalse",
    "term": "echo a\nkill -TERM $$",
    "pipe": "for ((i = 0; i < 100000; i++)); do echo $i; done | head -n 1 || echo ${PIPESTATUS[*]}\nfalse",
    "term in a child": "(sleep 0.2; kill -TERM $$) &\nbash -c \"trap '' TERM; sleep 1\"\necho late",
    "term in a builtin": "(sleep 0.2; kill -TERM $$) &\nwait\necho late",
}
"""Commands that would show what the traps change."""


@cache
def start_file(folder: str, options: str) -> str:
    """Return what the runtime has the bash of commands read first."""
    code = f"PSL_ROLE=0 PSL_SHELL_OPTIONS=('{options}') PSL_NOTES_END=1 PSL_END_LOG={folder}/log\nprint_traps"
    return run(code)


def commands(folder: Path, bash: list[str], text: str, options: str, *, traps: bool) -> tuple[int, str, str]:
    """Run commands as a task does; return their status, output and errors."""
    (folder / "commands").mkdir(exist_ok=True)
    (folder / "included").write_text("true\nfalse\n")
    (folder / "functions").write_text("fail() {\n  exit 6\n}\n")
    script = folder / "commands" / "0-w.sh"
    script.write_text(f"{text}\n")
    (folder / "start").write_text(f"unset BASH_ENV\n{start_file(str(folder), options) if traps else ''}")
    done = subprocess.run(
        [*bash, *options.split(), "--", str(script)],
        env={"PATH": "/usr/bin:/bin", "BASH_ENV": str(folder / "start")},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    # The numbers of processes differ.
    return done.returncode, done.stdout, re.sub(r"\d{3,}", "", done.stderr)


@pytest.fixture(scope="module", params=bashes.BASHES)
def bash(request: pytest.FixtureRequest) -> list[str]:
    try:
        return bashes.find(request.param)
    except bashes.NoBashError as reason:
        pytest.skip(str(reason))


@pytest.mark.slow("hundreds of scripts for each bash, which is made first where it is missing")
def test_the_failed_lines_are_recorded(bash: list[str], tmp_path: Path) -> None:
    wrong = []
    for name, case in CASES.items():
        folder = tmp_path / name.replace(" ", "-")
        folder.mkdir()
        status, _, errors = commands(folder, bash, case.text, case.options, traps=True)
        ends = [end for end in read_command_ends(folder / "log") if end.status == case.status]
        found = failed_lines(case.text, ends, errors.splitlines(), os.environ)
        if (status, found) != (case.status, (case.first, case.last)):
            wrong.append((name, status, found, case[1:4], ends, errors))
    assert not wrong


@pytest.mark.slow("hundreds of scripts for each bash, which is made first where it is missing")
def test_traps_do_not_change_the_behaviour_of_commands(bash: list[str], tmp_path: Path) -> None:
    texts = {name: (case.text, case.options) for name, case in CASES.items()}
    texts |= {name: (text, V2) for name, text in SAME.items()}
    for name, (text, options) in texts.items():
        with_traps = commands(tmp_path, bash, text, options, traps=True)
        assert with_traps == commands(tmp_path, bash, text, options, traps=False), name


def test_invalid_records_of_command_ends_are_ignored(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert read_command_ends(log) == ()
    lines = (
        "1 2 0  a  b 0 ",
        "x",
        "1 2",
        "\xff 1 0  x",
        "7 1 9 3 5 0 i.sh x",
        "7 0 3 0  x",
        "7 0 3 0 i.sh x",
        "4 1 0 ",
        "4 1",
    )
    log.write_text("\n".join(("", *lines)))
    assert read_command_ends(log) == ((1, 2, "a  b 0"), (7, 5, ""), (7, 0, "x"), (7, 3, ""), (4, 1, ""))

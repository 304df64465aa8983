"""The blocks of commands in a page, and what the page says of them.

A block is indented or fenced. Its commands begin with `$ `, their output follows. A block after "Save this file as
`NAME`:" is a file that the reader writes. Comments above a block say more:

    <!-- status: NUMBER -->     its commands end with this exit status, or with 0
    <!-- not run: REASON -->    it cannot be run here
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

COMMENT = re.compile(r"<!-- (status|not run): (.*) -->")
SAVED = re.compile(r"Save this file as `([\w.-]+)`:")
FENCE = re.compile(r" {0,3}```")
PROGRAMS = re.compile(r"(paislurm|make|sbatch|srun|scancel|pip|git|cd|export) +[\w./-]")
"""How a line of commands begins."""


@dataclass(frozen=True)
class Command:
    """Hold a command as it is typed, and the lines that it is said to print."""

    text: str
    printed: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Hold a block of commands, and the number of its first line."""

    line: int
    commands: tuple[Command, ...]
    status: int = 0
    not_run: str = ""


@dataclass
class Text:
    """Hold the lines of a block of any kind, and the comments above it."""

    line: int
    lines: list[str] = field(default_factory=list)
    comments: list[tuple[str, str]] = field(default_factory=list)

    @property
    def saved_as(self) -> str:
        return dict(self.comments).get("saved", "")

    @property
    def is_of_commands(self) -> bool:
        return any(line.startswith("$ ") for line in self.lines)


def texts(page: str) -> Iterator[Text]:
    """Yield every indented or fenced block of a page."""
    comments: list[tuple[str, str]] = []
    block: Text | None = None
    fenced, paragraph = False, False
    for number, line in enumerate([*page.splitlines(), "end"], 1):
        if FENCE.match(line):
            if block:
                yield block
            fenced = not fenced
            block, comments = (Text(number, [], comments), []) if fenced else (None, comments)
        elif fenced:
            assert block
            block.lines.append(line)
        elif line.startswith("    ") and (block or not paragraph):
            block = block or Text(number, [], comments)
            comments = []
            block.lines.append(line[4:])
        elif block and not line:
            block.lines.append(line)
        else:
            if block:
                yield block
            block = None
            found = COMMENT.fullmatch(line)
            said = (found[1], found[2]) if found else ("saved", saved[1]) if (saved := SAVED.fullmatch(line)) else None
            comments = [*comments, said] if said else comments if not line else []
            paragraph = bool(line) and not found


def blocks(page: str) -> list[Block]:
    """Return the blocks of commands of a page, and of files to save, in order."""
    return [block_of(text) for text in texts(page) if text.is_of_commands or text.saved_as]


def block_of(text: Text) -> Block:
    if text.saved_as:
        writes = "\n".join([f"cat >{text.saved_as} <<'END'", *text.lines, "END"])
        return Block(text.line, (Command(writes, ()),))
    commands: list[Command] = []
    for line in text.lines:
        if line.startswith("$ "):
            commands.append(Command(line[2:], ()))
        elif commands and commands[-1].text.endswith("\\"):
            commands[-1] = Command(f"{commands[-1].text}\n{line}", ())
        elif commands:
            commands[-1] = Command(commands[-1].text, (*commands[-1].printed, line))
        else:
            raise AssertionError(f"line {text.line}: output without a command")
    said = dict(text.comments)
    return Block(text.line, tuple(commands), int(said.get("status", "0")), said.get("not run", ""))


def prints(said: str, line: str, user: str) -> bool:
    """Tell whether a line that a page shows begins one of the output, but for numbers, blanks and the user's name.

    `...` and `…` stand for anything.
    """
    wanted = plain(line.replace("alice", user))
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.|…", wanted))
    return any(re.match(pattern, plain(each)) for each in said.splitlines())


def plain(line: str) -> str:
    return re.sub(r"\d+(?:[.:-]\d+)*", "0", " ".join(line.split()))

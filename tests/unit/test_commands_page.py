"""The page of commands is their help.

`.venv/bin/python -m tests.unit.test_commands_page` writes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from paislurm.translator.cli.command_group import GROUPS, TITLES
from paislurm.translator.cli.main import cli

FILE = Path(__file__).parents[2] / "docs/reference/commands.md"
COMMON = 4
"""An option of at least so many commands is explained once."""
HEAD = """\
# Commands

This page is generated from `paislurm COMMAND --help`, which has more details and examples. `--json` prints
[one JSON document](json.md). Messages go to standard error.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the job failed (`wait`, `submit --wait`, `submit --follow`); `diff`, `verify`, `site detect`: a difference |
| 2 | wrong usage |
| 3 | the job file is wrong |
| 4 | the site cannot run the job, or refuses it |
| 5 | no such job, task or log |
| 6 | the backend does not answer |
| 124 | the time of `wait --timeout` is up; the job continues |
| 130 | interrupted; a job that is waited for continues |

| variable | meaning |
| --- | --- |
| `PAISLURM_HOME` | folder of the jobs, the same path on all nodes; default `~/.paislurm` |
| `PAISLURM_SITE` | the [site profile](site-profile.md) |
| `PAISLURM_TRANSPORT` | how [a login node](../how-to/run/login-node.md#two-transports) is reached |
| `NO_COLOR`, `TERM=dumb` | no colours; the latter also no live screen |
"""


def page() -> str:
    """Return the page."""
    sections = {group: [each for name in names for each in _commands_of(name)] for group, names in GROUPS.items()}
    counted = Counter(row for each in sections.values() for section in each for row in section.rows)
    common = [row for row, number in counted.items() if number >= COMMON]
    parts = [f"{HEAD}\n## Options of several commands\n\n{_table(common)}"]
    for group, found in sections.items():
        parts += [f"\n## {TITLES[group]}\n", *(section.text(common) for section in found)]
    return "".join(parts)


@dataclass(frozen=True)
class Section:
    """Hold the usage of a command and the rows of its options."""

    path: str
    usage: str
    rows: list[tuple[str, str]]

    def text(self, common: list[tuple[str, str]]) -> str:
        """Return the section; options in `common` are named only."""
        named = [re.findall(r"--[\w-]+", names)[0] for names, _ in self.rows if (names, _) in common]
        own = [row for row in self.rows if row not in common]
        also = f" Also: {', '.join(f'`{name}`' for name in named)}." if named else ""
        return f"\n### {self.path}\n{self.usage}{also}\n" + (f"\n{_table(own)}" if own else "")


def _commands_of(name: str) -> Iterator[Section]:
    context = click.Context(cli, info_name="paislurm")
    command = cli.get_command(context, name)
    assert command
    inner = click.Context(command, info_name=name, parent=context)
    yield _section(command, inner)
    if isinstance(command, click.Group):
        for each in command.list_commands(inner):
            found = command.get_command(inner, each)
            assert found
            yield _section(found, click.Context(found, info_name=each, parent=inner))


def _section(command: click.Command, context: click.Context) -> Section:
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [record for each in options if (record := each.get_help_record(context))]
    words = " ".join(command.collect_usage_pieces(context)).replace("[OPTIONS]", "").strip()
    usage = f"`{f'{context.command_path} {words}'.strip()}`: {command.get_short_help_str(limit=200)}"
    return Section(context.command_path, usage, [row for row in records if not row[0].endswith("--help")])


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [f"| `{_cell(names)}` | {_cell(text)} |\n" for names, text in rows]
    return "".join(["| option | meaning |\n| --- | --- |\n", *lines])


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def test_the_page_matches_the_help_of_the_commands() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "make golden"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")

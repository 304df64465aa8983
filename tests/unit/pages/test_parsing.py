"""What is taken for a block of commands, and for what it prints."""

from __future__ import annotations

import pytest

from .blocks import Command, blocks, prints, texts

PAGE = """\
# Title

A paragraph
    that is indented is no block.

Save this file as `a/b.yaml`:

Text between.

<!-- status: 1 -->

    $ ls a            # a comment
    one
    two
    $ cat \\
        b

<!-- not run: it is large -->
```console
$ make large
```

<!-- status: 2 -->
Text between a comment and a block parts them.

    $ true

    key: value

Save this file as `mine.yaml`:

```yaml
name: mine
```
"""


def test_blocks_of_a_page_are_parsed() -> None:
    first, large, last, saved = blocks(PAGE)
    assert first.commands == (Command("ls a            # a comment", ("one", "two")), Command("cat \\\n    b", ("",)))
    assert (first.line, first.status, first.not_run) == (12, 1, "")
    assert (large.commands, large.not_run) == ((Command("make large", ()),), "it is large")
    assert (last.status, last.commands[0].printed) == (0, ("", "key: value", ""))
    assert saved.commands == (Command("cat >mine.yaml <<'END'\nname: mine\nEND", ()),)


def test_output_without_a_command_is_refused() -> None:
    with pytest.raises(AssertionError, match="output without a command"):
        blocks("    out\n    $ true\n")


def test_blocks_without_commands_are_checked_too() -> None:
    assert [text.lines for text in texts("    paislurm list\n\n```yaml\na: 1\n```\n")] == [
        ["paislurm list", ""],
        ["a: 1"],
    ]


@pytest.mark.parametrize(
    ("line", "said"), [("job a", "the job a"), ("state RUNNING", "state FAILED"), ("one", ""), ("a … c", "a b d")]
)
def test_different_output_is_reported(line: str, said: str) -> None:
    assert not prints(said, line, "root")

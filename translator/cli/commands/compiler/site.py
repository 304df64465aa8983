"""`paislurm site`: the site profile, as Slurm has it and as it is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...options import examples, json_option
from ...output.console import log, print_file, print_json

if TYPE_CHECKING:
    from ....site.detection.answers import Detection


@click.group(
    name="site",
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site show --json",
    ),
)
def command() -> None:
    """Write a site profile by what Slurm says, or show the one in force."""


@command.command(
    epilog=examples(
        "paislurm site detect",
        "paislurm site detect --output ~/.config/paislurm/site.yaml",
        "paislurm site detect --output ~/.config/paislurm/site.yaml --force",
    )
)
@click.option("-o", "--output", metavar="FILE", help="Write the profile there instead of to standard output.")
@click.option("--force", is_flag=True, help="Write over a FILE that says something else, and keep it as FILE.old.")
@json_option
def detect(output: str | None, *, force: bool, as_json: bool) -> int:
    """Write a site profile by what Slurm says, with comments, and with a list of what could not be learnt.

    It asks Slurm five questions: scontrol three, srun and sacctmgr one. No job is submitted, and no node is looked at.

    A FILE that says something else stays as it is, because you may have changed it: what differs is printed, and the
    exit code is 1.
    """
    from pathlib import Path

    from ....site.detection.profile_text import profile_text
    from ...site.profile_file import Written, write_profile

    found = _detection()
    text = profile_text(found)
    done = write_profile(Path(output), text, force=force) if output else Written(written=False)
    if as_json:
        print_json(
            {
                "output": output,
                "text": text,
                "written": done.written,
                "difference": done.difference,
                "kept_as": done.kept_as or None,
                "not_learnt": [{"setting": gap.key, "reason": gap.reason, "ask": gap.command} for gap in found.gaps],
            }
        )
    elif output is None:
        print_file(text)
    else:
        print_file(done.difference)
    if output is None:
        return 0
    if done.written:
        log(f"wrote {output}" + (f"; what was there is in {done.kept_as}" if done.kept_as else ""))
    elif done.difference:
        log(f"{output} stays as it is: it differs from what Slurm says. Take over what you like, or all with --force")
    else:
        log(f"{output} says what Slurm says")
    return 1 if done.difference and not done.written else 0


def _detection() -> Detection:
    from paislurm.backends.runner import LocalRunner

    from ....site.detection.detect import detect
    from ...context import slurm_runner, user_name
    from ...site.ask import ask, this_machine

    return detect(ask(slurm_runner(), LocalRunner(), this_machine(), user_name()))

"""Whose a job is that Slurm shows: what it prints of ours, of ours under the names of a site, and of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from paislurm.backends.base import RunFolder
from paislurm.backends.runner import Completed
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import SlurmBackend
from paislurm.backends.slurm.identity import is_attempt
from paislurm.backends.slurm.job_states import observation
from paislurm.backends.slurm.output import accounting_rows, queue_rows

from ..recording import Recording, Replay

JOBS = "/home/alice/.paislurm/jobs"
OURS = RunFolder(folder=Path(f"{JOBS}/alice~demo"), job="demo", tag="paislurm-1a2b.1", attempt=1)
SCRIPT = f"{JOBS}/alice~demo/attempts/1/job.sbatch"
LINE = f"{SCRIPT} {JOBS}/alice~demo 1 paislurm-1a2b.1"
OTHER = SCRIPT.replace("demo", "other")
"""The script of another job of the user."""
SEEN = {
    "usual, 22.05": ("demo", "paislurm-1a2b.1", LINE, True),
    "usual, 24.11": ("demo", "paislurm-1a2b.1", SCRIPT, True),
    "renamed by its user": ("mine", "paislurm-1a2b.1", SCRIPT, True),
    "renamed by the site, 22.05": ("x-demo", "site:1000", LINE, True),
    "renamed by the site, 24.11": ("x-demo", "site:1000", SCRIPT, True),
    "the home has another path": ("x-demo", "", SCRIPT.replace("/home", "/nfs/home"), True),
    "at a login node": ("x-demo", "", "/home/a/.paislurm/remote/demo.1a2b/attempts/1/job.sbatch", True),
    "another job": ("other", "paislurm-3c4d", OTHER, False),
    "another job, 22.05": ("x-other", "site:1000", f"{OTHER} {JOBS}/alice~other 1 paislurm-3c4d", False),
    "another job, 24.11": ("x-other", "site:1000", OTHER, False),
    "another attempt": ("demo", "paislurm-1a2b.2", SCRIPT.replace("/1/", "/2/"), False),
    "another attempt, renamed": ("x-demo", "site:1000", SCRIPT.replace("/1/", "/11/"), False),
    "a job of the same name, of which this one was removed": ("demo", "paislurm-9.1", SCRIPT, False),
    "not ours": ("demo", "", "/home/alice/demo.sh 5", None),
    "a wrapper's copy": ("demo", "site:1000", "/var/spool/wrapped-7.sh", None),
    "sbatch --wrap": ("wrap", "", "(null)", None),
}


@pytest.mark.parametrize(("name", "comment", "command", "expected"), SEEN.values(), ids=SEEN)
def test_a_job_is_known_by_its_tag_or_its_script(name: str, comment: str, command: str, expected: bool | None) -> None:
    queue = queue_rows(f"7|{name}|PENDING|10|N/A|N/A|||||{comment or '(null)'}|{command}|None\n")
    seen = observation(queue, (), components=1, accounted=True)
    assert seen is not None
    assert is_attempt(seen, OURS) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [(f"sbatch --parsable {LINE}", True), (f"sbatch --parsable {LINE}0", False), ("sbatch demo.sh", None), ("", None)],
)
def test_the_accounts_show_the_submit_line(line: str, expected: bool | None) -> None:
    header = f"{','.join(commands.ACCOUNTING_FIELDS)},SubmitLine".replace(",", "|")
    rows = accounting_rows(f"{header}\n7|x-demo|CANCELLED by 0|0:0|10|20|30|||None|{line}\n")
    seen = observation((), rows, components=1, accounted=True)
    assert seen is not None
    assert is_attempt(seen, OURS) is expected


def found(*rows: str, accounts: str = "") -> dict[str, str]:
    """Return what a search for our tag finds in rows of the queue, and in the accounts."""
    queue = Recording(
        tuple(commands.squeue_tags()), Completed(status=0, stdout="".join(f"{row}\n" for row in rows), stderr="")
    )
    submit_lines = Completed(status=0, stdout=accounts, stderr="")
    runner = Replay([queue, Recording(tuple(commands.sacct_tags(30)), submit_lines)])
    return dict(SlurmBackend(runner, run_folders=lambda _, tags: [OURS] * (OURS.tag in tags)).find([OURS.tag]))


def test_a_job_that_a_site_renamed_is_found_by_its_script() -> None:
    other, wrapped = f"5|PD|site:1000|{OTHER}", "6|R|site:1000|(null)"
    assert found(other, wrapped, f"7|PD|site:1000|{SCRIPT}") == {OURS.tag: "7"}
    assert found(other, f"7+0|PD|site:1000|{LINE}", f"7+1|PD|site:1000|{LINE}") == {OURS.tag: "7"}
    assert found(other, wrapped) == {}


def test_neither_an_ended_job_nor_one_with_another_tag_is_found_by_its_script() -> None:
    """They are of a removed job of the same name."""
    assert found(f"7|CA|site:1000|{SCRIPT}", f"8|R|paislurm-9.1|{SCRIPT}") == {}


def test_the_accounts_find_the_leader_of_a_waiting_heterogeneous_job() -> None:
    """24.11 and 26.05 show its components as plain jobs until it starts."""
    accounts = f"JobID|Comment|SubmitLine\n9||sbatch {LINE}\n10||sbatch {LINE}\n"
    assert found(f"7|CA|site:1000|{SCRIPT}", accounts=accounts) == {OURS.tag: "9"}

"""TAB in real shells: bash, zsh and fish are each driven through a terminal, as a person does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.terminal import Terminal

from ...monitor.jobs import CREATED, job_folder
from ..running import ME as DEMO

PROGRAM = Path(sys.executable).parent
ME = DEMO.partition("~")[0]
JOB = "protocolVersion: 2\nname: a\ntype: job\nparameters: {lr: 0.1, late: 5, text: it's}\ntaskRoles: {}\n"
PLAN = '{"roles": [{"name": "worker", "ports": [{"label": "ssh"}, {"label": "http"}, {"label": "metrics"}]}]}'
SITE = """
partitions: {alpha: {}, beta: {}}
accounts: {lab: {}}
virtualClusters: {fast: {partition: alpha, qos: high}}
exitSpec: [{code: 41, phrase: OurOwnCode, behaviour: permanent}]
"""


def program_of(shell: str) -> str:
    """Return the program of a shell; without it the test is skipped."""
    return shutil.which(shell) or pytest.skip(f"{shell} is not installed")


@pytest.fixture
def place(surroundings: Path, tmp_path: Path) -> Path:
    """Make jobs and files, and return the folder of the files."""
    for name in ("train-one", "train-two", "other", "twice", "twice@2", "twice@13"):
        job_folder(surroundings, replace(CREATED, user=ME, job=name), name=f"{ME}~{name}")
    job_folder(surroundings, replace(CREATED, user="bob", job="his"), name="bob~his")
    served = job_folder(surroundings, replace(CREATED, user=ME, job="wave-1", group="waves"), name=f"{ME}~wave-1")
    (served.path / "plan.json").write_text(PLAN, encoding="utf-8")
    profile = tmp_path / ".config" / "paislurm" / "site.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text(SITE, encoding="utf-8")
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("my job.yaml", "job.yaml"):
        (folder / name).write_text(JOB, encoding="utf-8")
    return folder


def opened(argv: list[str], folder: Path, environment: dict[str, str]) -> Terminal:
    """Start a shell in a folder."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return Terminal(["env", "-i", f"--chdir={folder}", *variables, *argv], rows=24, columns=200)


@pytest.fixture
def bash(place: Path, tmp_path: Path) -> Iterator[Terminal]:
    """Start an interactive bash that has read the completion."""
    environment = {
        "PATH": f"{PROGRAM}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PAISLURM_HOME": os.environ["PAISLURM_HOME"],
        "TERM": "dumb",
        "PS1": "ready> ",
        "INPUTRC": "/dev/null",
    }
    shell = opened(["bash", "--norc", "--noprofile", "-i"], place, environment)
    show_line = r"""bind -x '"\C-t": printf "<%s>\n" "$READLINE_LINE"'"""
    shell.type(f"{show_line}; . <(paislurm completion bash) && printf 'read%s\\n' y\n")
    shell.expect("ready\r\nready> ")
    yield shell
    shell.close()


COMPLETED = [
    ("paislurm stat", "paislurm status "),
    ("paislurm expl", "paislurm explain "),
    ("paislurm status oth", "paislurm status other "),
    ("paislurm status train-o", "paislurm status train-one "),
    ("paislurm status bob~h", "paislurm status bob~his "),
    ("paislurm status tw", "paislurm status twice"),
    ("paislurm status twice@1", "paislurm status twice@13 "),
    (f"paislurm status {ME}~twice@2", f"paislurm status {ME}~twice@2 "),
    ("paislurm check jo", "paislurm check job.yaml "),
    ("paislurm check my", "paislurm check my\\ job.yaml "),
    ("paislurm check job.yaml --set la", "paislurm check job.yaml --set late="),
    ("paislurm check job.yaml --set late=", "paislurm check job.yaml --set late=5 "),
    ("paislurm check job.yaml --set text=", "paislurm check job.yaml --set text=it\\'s "),
    ("paislurm check my\\ job.yaml --set lr", "paislurm check my\\ job.yaml --set lr="),
    ("paislurm list --state succ", "paislurm list --state succeeded "),
    ("paislurm logs train-one work", "paislurm logs train-one worker"),
    ("paislurm exec train-one other-", "paislurm exec train-one other-"),
    ("paislurm submit --again tr", "paislurm submit --again train-"),
    ("paislurm diff other my", "paislurm diff other my\\ job.yaml "),
    ("paislurm list --columns name,ela", "paislurm list --columns name,elapsed "),
    ("paislurm submit job.yaml --backend lo", "paislurm submit job.yaml --backend local "),
    ("paislurm submit job.yaml --partition be", "paislurm submit job.yaml --partition beta "),
    ("paislurm update other --partition al", "paislurm update other --partition alpha "),
    ("paislurm check job.yaml --account l", "paislurm check job.yaml --account lab "),
    ("paislurm submit job.yaml --qos h", "paislurm submit job.yaml --qos high "),
    ("paislurm check --site nowhere.yaml --partition al", "paislurm check --site nowhere.yaml --partition al"),
    ("paislurm cancel waves", "paislurm cancel waves "),
    ("paislurm logs waves", "paislurm logs waves "),
    ("paislurm list wav", "paislurm list wave"),
    ("paislurm port-forward wave-1 worker-0 me", "paislurm port-forward wave-1 worker-0 metrics "),
    ("paislurm port-forward wave-1 worker-0 t", "paislurm port-forward wave-1 worker-0 t"),
    ("paislurm explain NODE", "paislurm explain NODE_FAIL "),
    ("paislurm explain --site nowhere.yaml TIMEO", "paislurm explain --site nowhere.yaml TIMEOUT "),
    ("paislurm explain OurOwn", "paislurm explain OurOwnCode "),
    ("paislurm nothing jo", "paislurm nothing jo"),
    ("paislurm check nowhere.yaml --set l", "paislurm check nowhere.yaml --set l"),
]


@pytest.mark.parametrize(("typed", "completed"), COMPLETED)
def test_bash_completes(bash: Terminal, typed: str, completed: str) -> None:
    bash.type(f"{typed}\t\x14")
    assert bash.expect("<.*?>") == f"<{completed}>"


def test_fish_completes(place: Path, tmp_path: Path) -> None:
    fish = program_of("fish")
    environment = {**os.environ, "PATH": f"{PROGRAM}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}

    def complete(line: str) -> list[str]:
        order = 'paislurm completion fish | source; complete -C "$argv[1]"'
        argv = [fish, "--no-config", "-c", order, line]
        done = subprocess.run(argv, env=environment, cwd=place, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    assert "status" in complete("paislurm st")
    assert "job.yaml" in complete("paislurm check jo")
    for typed, completed in (
        ("status train-", ["train-one", "train-two"]),
        ("check job.yaml --set l", ["late=", "lr="]),
        ("port-forward wave-1 worker ", ["http", "metrics", "ssh"]),
        ("wait wav", ["waves", "wave-1"]),
    ):
        assert complete(f"paislurm {typed}") == completed


def test_zsh_completes(place: Path, tmp_path: Path) -> None:
    zsh = program_of("zsh")
    environment = {**os.environ, "PATH": f"{PROGRAM}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    shell = opened([zsh, "-f", "-i"], place, environment | {"PS1": "ready> "})
    shell.type("autoload -Uz compinit; compinit -u -D; . <(paislurm completion zsh); print -r rea''dy\n")
    shell.expect("\nready")
    for typed, completed in [
        ("status oth", "status other "),
        ("check job.yaml --set la", "check job.yaml --set late="),
        ("port-forward wave-1 worker ht", "port-forward wave-1 worker http "),
        ("status waves", "status waves "),
    ]:
        shell.type(f"paislurm {typed}\t")
        shell.expect(completed)
        shell.type("\x15\n")
        shell.expect("ready> ")
    shell.close()


@pytest.mark.parametrize("what", ["bash_source", "perl_complete", "zsh", ""])
def test_unknown_completion_requests_print_nothing(what: str) -> None:
    environment = {**os.environ, "_PAISLURM_COMPLETE": what, "COMP_WORDS": "paislurm st", "COMP_CWORD": "1"}
    done = subprocess.run([str(PROGRAM / "paislurm")], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")

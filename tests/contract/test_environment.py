"""What tasks have of the shell that submits: its variables, and its folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, ONE_ATTEMPT, job_text, role
from tests.contract.site import Job, merged

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.site import Site

LOOK = """echo "${LICENSE-no} ${MY_KEY-no} ${OTHER-no} ${HOME:+home} ${SLURM_JOB_ID:+slurm} ${PAI_TASK_INDEX-no}"
        pwd -P; cd -- "$PAISLURM_SUBMIT_DIR"; pwd -P"""
SHELL = {"LICENSE": "a b", "MY_KEY": "key", "OTHER": "mine"}


def described(site: Site, folder: Path, extras: str) -> Job:
    name = "shell-" + folder.name[:30].strip("-")
    site.write(folder, "site.yaml", merged(site.profile, ONE_ATTEMPT))
    text = job_text(name, role("a", 1, LOOK) + role("b", 1, LOOK), extras)
    return Job(site, folder, site.write(folder, "job.yaml", text), name)


@BOTH
@pytest.mark.parametrize(
    ("names", "has"),
    [("all", "a b key mine"), ("none", "no no no"), ("[LICENSE, MY_*]", "a b key no")],
    ids=["all", "none", "names"],
)
def test_variables_and_folder_of_the_shell(site: Site, folder: Path, names: str, has: str, layout: str) -> None:
    """Of `paislurm submit`, which calls sbatch, and where a script is handed to sbatch."""
    extras = f"{{slurm: {{layout: {layout}, exportEnv: {names}, workdir: submit}}}}"
    job = described(site, folder, extras)
    here = site.own(folder / "it's here")
    here.chmod(0o700)
    done = site.run("paislurm", "submit", "--json", str(job.file), cwd=here, env={**job.env, **SHELL})
    assert done.returncode == 0, done.stderr
    code, _ = job.ended()
    expected = [f"{has} home slurm 0", str(here.resolve()), str(here.resolve())]
    assert code == 0
    assert [job.log(task).splitlines() for task in ("0-a/0", "1-b/0")] == [expected, expected]
    by_hand = site.write(folder, "by-hand.sbatch", job.paislurm("script", "job.yaml").stdout)
    words = ["sbatch", "--wait", "--parsable", f"--output={here}/slurm.log", str(by_hand)]
    done = site.run(*words, cwd=here, env=SHELL)
    assert done.returncode == 0, (here / "slurm.log").read_text()
    logs = sorted(here.glob("*/attempts/0/logs/*/0.stdout.log"))
    assert [log.read_text().splitlines() for log in logs] == [expected, expected]


def test_a_folder_that_the_nodes_do_not_have(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, "echo ran"), "{slurm: {workdir: /no/such/folder}}")
    code, result = job.ended()
    assert (code, [(task["state"], task["exit_code"]) for task in result["tasks"]]) == (1, [("FAILED", 252)])
    assert "error: there is no folder /no/such/folder on " in job.log("0-w/0", "stderr.log")
    assert json.loads((job.path / "plan.json").read_text())["roles"][0]["workdir"] == "/no/such/folder"

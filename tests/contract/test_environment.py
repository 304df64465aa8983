"""What tasks have of the shell that submits: its variables, and its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.jobs import BOTH, role

if TYPE_CHECKING:
    from tests.contract.site import Site

LOOK = """echo "${LICENSE-no} ${MY_KEY-no} ${OTHER-no} ${HOME:+home} ${SLURM_JOB_ID:+slurm} ${PAI_TASK_INDEX-no}"
        pwd -P; cd -- "$PAISLURM_SUBMIT_DIR"; pwd -P"""
SHELL = {"LICENSE": "a b", "MY_KEY": "key", "OTHER": "mine"}


@BOTH
@pytest.mark.parametrize(
    ("names", "has"),
    [("all", "a b key mine"), ("none", "no no no"), ("[LICENSE, MY_*]", "a b key no")],
    ids=["all", "none", "names"],
)
def test_tasks_get_exported_variables_and_the_submit_folder(
    site: Site, folder: Path, names: str, has: str, layout: str
) -> None:
    """Of `paislurm submit`, which calls sbatch, and where a script is handed to sbatch."""
    extras = f"{{slurm: {{layout: {layout}, exportEnv: {names}, workdir: submit}}}}"
    job = site.described(folder, "shell", role("a", 1, LOOK) + role("b", 1, LOOK), extras)
    here = site.own(folder / "it's here")
    here.chmod(0o700)
    done = site.run("paislurm", "submit", "--json", str(job.file), cwd=here, env={**job.env, **SHELL})
    assert done.returncode == 0, done.stderr
    code, _ = job.ended()
    expected = [f"{has} home slurm 0", str(here.resolve()), str(here.resolve())]
    assert code == 0
    assert [job.log(task).splitlines() for task in ("0-a/0", "1-b/0")] == [expected, expected]
    by_hand = site.write(folder, "by-hand.sbatch", job.paislurm("script", "shell.yaml").stdout)
    words = ["sbatch", "--wait", "--parsable", f"--output={here}/slurm.log", str(by_hand)]
    done = site.run(*words, cwd=here, env=SHELL)
    assert done.returncode == 0, (here / "slurm.log").read_text()
    logs = sorted(here.glob("*/attempts/0/logs/*/0.stdout.log"))
    assert [log.read_text().splitlines() for log in logs] == [expected, expected]


def test_missing_workdir_on_the_node_fails_the_task(site: Site, folder: Path) -> None:
    job = site.submit(folder, role("w", 1, "echo ran"), "{slurm: {workdir: /no/such/folder}}")
    code, result = job.ended()
    assert (code, [(task["state"], task["exit_code"]) for task in result["tasks"]]) == (1, [("FAILED", 252)])
    assert "error: there is no folder /no/such/folder on " in job.log("0-w/0", "stderr.log")
    assert json.loads((job.path / "plan.json").read_text())["roles"][0]["workdir"] == "/no/such/folder"


MODULES = Path("/usr/share/modules/init/bash")
"""Environment Modules of Debian."""
STARTS = "starts() { echo start; }\nfalse\n"
MODULEFILE = """#%Module
setenv TOOL_HOME {folder}
prepend-path PATH {folder}/bin
"""
OF_A_SHELL = r"""
export LINES_OF=$'one\n two=2\n\'three\' "four" $five `six` \\' EMPTY= lower='a  b' BIG
printf -v BIG '%*s' 131067 ''
say() { printf 'my %s\n' "$1
$2"; }
export -f say
export BASH_ENV=$PWD/start.sh
"""
ALL_OF_IT = """type -t say; say "a" "b"; starts
        printf '%s|' "$LINES_OF" "${EMPTY-unset}" "$lower" "${#BIG}" "${OTHER-}"
        printf '%s|' "${SLURM_QOS-}" "${SBATCH_QOS-}" "$PAISLURM_SUBMIT_DIR"; bash -c 'starts; say c d'
        umask; ssh -n a-0 umask
        [ "$FC_FRAMEWORK_ATTEMPT_ID" = 1 ]"""


def test_attempts_and_retries_get_the_submitters_environment(site: Site, folder: Path) -> None:
    """Lines, quotes, functions, the longest value, BASH_ENV, umask; a shell that has others submits the retry."""
    job = site.described(folder, "shell", role("a", 1, ALL_OF_IT), retries=1)
    site.write(folder, "start.sh", STARTS)
    more = (
        f"{OF_A_SHELL}umask 0002\nexport SLURM_QOS=nosuch SBATCH_QOS=normal\nexec paislurm submit --json shell.yaml\n"
    )
    done = site.run("bash", str(site.write(folder, "submit.sh", more)), cwd=folder, env=job.env)
    assert done.returncode == 0, done.stderr
    waited = site.run("paislurm", "wait", "--", job.name, cwd=folder, env={**job.env, "LINES_OF": "x", "OTHER": "y"})
    assert waited.returncode == 0, (waited.stderr, job.said())
    expected = (
        "function\nmy a\nb\nstart\none\n two=2\n'three' \"four\" $five `six` \\||a  b|131067||"
        f"||{folder.resolve()}|start\nmy c\nd\n0002\n0002\n"
    )
    assert [job.log("0-a/0", attempt=number) for number in (0, 1)] == [expected, expected]
    assert not (job.path / "environment").exists()


def test_a_module_that_the_commands_load(site: Site, folder: Path) -> None:
    """Its `module` is that of the shell in which the job is submitted, by paislurm, sbatch, or to run there."""
    if site.cluster is None:
        pytest.skip("what modules a site has is not known")
    text = "type -t module; module load tool/1; tool; starts; echo $TOOL_HOME; pwd -P"
    job = site.described(folder, "shell", role("a", 1, text), "{slurm: {workdir: ./code}}")
    tool = folder / "tool"
    for name in ("tool", "tool/bin", "modules", "modules/tool", "code", "here"):
        site.own(folder / name)
    program = site.write(tool / "bin", "tool", "#!/bin/sh\necho this is the tool\n")
    program.chmod(0o755)
    site.write(folder / "modules/tool", "1", MODULEFILE.format(folder=tool))
    by_hand = site.write(folder, "by-hand.sbatch", job.paislurm("script", "shell.yaml").stdout)
    site.write(folder, "start.sh", STARTS)
    shell = f"source {MODULES}\nmodule use {folder}/modules\nexport BASH_ENV={folder}/start.sh\n"
    words = f"""paislurm submit --json --wait shell.yaml && sbatch --wait --parsable {by_hand.name} &&
        PAISLURM_HOME={folder}/here paislurm submit --backend local --wait shell.yaml"""
    done = site.run("bash", str(site.write(folder, "submit.sh", shell + words)), cwd=folder, env=job.env)
    assert done.returncode == 0, (done.stderr, job.said())
    logs = [log.read_text() for log in folder.rglob("0-a/0.stdout.log")]
    expected = ["function", "this is the tool", "start", str(tool), str((folder / "code").resolve())]
    assert [log.splitlines() for log in logs] == [expected] * 3

"""Texts that are dangerous to a shell, in every field that takes text, run and come back as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from tests.cluster.jobs import SITE, folder_of_alice, paislurm, submit_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster

NASTY = (
    "-n 'a' \"b\" $(touch $HOME/canary) `touch $HOME/canary` ${HOME} , } { ; & | > x < y \\ \\n %j %% # ! * ? [a] ~"
    " --x é\nEOF\nCOMMANDS\nENVIRONMENT\n}\n'\n\"\n$(touch canary)\n#SBATCH --nope"
)
FOLDER = 'it\'s a "dir" %j \\n $(touch canary) `touch canary`; é ,=:*'
HOME = 'ho\'me "%x" $(touch canary)'


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def nasty_job(name: str) -> dict[str, Any]:
    resources = {"cpu": 1, "memoryMB": 100, "gpu": 0}
    return {
        "protocolVersion": 2,
        "name": name,
        "type": "job",
        "version": NASTY,
        "contributor": NASTY,
        "description": NASTY,
        "parameters": {"x": quoted(NASTY), "dash": "--help", "minus": -1, "list": [quoted("'")]},
        "prerequisites": [
            {
                "type": "dockerimage",
                "name": "-image",
                "uri": "x/$(touch${IFS}$HOME/canary)';`id`}",
                "description": NASTY,
            },
            {"type": "data", "name": "data", "uri": [quoted(NASTY)], "description": NASTY},
        ],
        "taskRoles": {
            "if": {
                "instances": 2,
                "dockerImage": "-image",
                "data": "data",
                "completion": {"minSucceededInstances": 2},
                "resourcePerInstance": {**resources, "ports": {"do": 1, "IFS": 2, "_": 1, "PATH": 1}},
                "commands": [
                    "printf '%s' <% $parameters.x %> >parameter",
                    "printf '%s' <% $data.uri[0] %> >uri",
                    "printf '%s|' <% $parameters.dash %> <% $parameters.minus %> <% $parameters.list[0] %> >words",
                    "cat >document <<'EOF'\n}\n\"'`$(touch $HOME/canary)\nEOF\n",
                    "printf '%s' \"$PAI_VIRTUAL_CLUSTER\" >cluster",
                    "printf '%s' \"$PAI_JOB_NAME\" >name",
                    "env -0 >env",
                ],
            },
            "__PATH__": {
                "dockerImage": "-image",
                "completion": {"minSucceededInstances": -1},
                "resourcePerInstance": resources,
                "commands": ["sleep infinity"],
            },
        },
        "deployments": [
            {
                "name": "-deployment",
                "taskRoles": {"if": {"preCommands": ['pre="it\'s"'], "postCommands": ["printf '%s' \"$pre\" >pre"]}},
            }
        ],
        "defaults": {"deployment": "-deployment", "virtualCluster": NASTY},
        "extras": {"note": NASTY, "slurm": {"layout": "het"}},
    }


def test_shell_metacharacters_are_never_executed_and_values_survive(installed: Cluster, workdir: Path) -> None:
    folder = folder_of_alice(workdir / FOLDER)
    name = "-" + "j" * 240
    site = yaml.safe_load(SITE.read_text())
    site["virtualClusters"][NASTY] = {"partition": "normal"}
    (folder / "site.yaml").write_text(yaml.safe_dump(site))
    file = '-it\'s "$(touch canary)" %j\\.yaml'
    (folder / file).write_text(yaml.safe_dump(nasty_job(name), sort_keys=False))
    home = folder / HOME
    job = submit_file(installed, folder, file, home=home)

    # The same script by hand, in the same folder.
    script = paislurm(installed, folder, "script", "--site", "site.yaml", "-o", "./job.sbatch", "--", file)
    assert script.returncode == 0, script.stderr
    by_hand = installed.run(["sbatch", "--parsable", "--wait", "./job.sbatch"], cwd=folder)
    assert by_hand.returncode == 0, (by_hand.stderr, [log.read_text() for log in folder.glob("slurm-*.out")])

    code, result = job.ended()
    assert (code, result["outcome"], result["job"]) == (0, "succeeded", name)
    for attempt in (job.attempt, folder / f"{name}-{by_hand.stdout.strip()}" / "attempts" / "0"):
        for index in (0, 1):
            work = attempt / "work" / "0-if" / str(index)
            values = {path.name: path.read_text() for path in work.iterdir() if path.name != "env"}
            assert values == {
                "parameter": NASTY,
                "uri": NASTY,
                "words": "--help|-1|'|",
                "document": "}\n\"'`$(touch $HOME/canary)\n",
                "cluster": NASTY,
                "name": name,
                "pre": "it's",
            }
            environment = dict(entry.split("=", 1) for entry in (work / "env").read_text().split("\0") if entry)
            assert environment["PAI_WORK_DIR"] == str(work)
            assert environment[f"PAI_if_{index}_IFS_PORT"].count(",") == 1
    assert json.loads((job.attempt / "result.json").read_text())["trigger"]["role"] == "if"
    assert [*installed.home("alice").glob("canary*"), *workdir.rglob("canary")] == []

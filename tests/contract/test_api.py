"""The Python API on a real Slurm: a program of a user's submits, waits, reads and cancels."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.cluster.jobs import ONE_ATTEMPT, job_text, role
from tests.contract.site import merged

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.contract.site import Site

PROGRAM = """\
import json, sys
import paislurm

said = []
one, two = (paislurm.Client(home=home, site="site.yaml", say=said.append) for home in ("one", "two"))
first = one.submit("job.yaml", parameters={"word": "hello"})
second = two.submit("job.yaml", parameters={"word": 0.5})
lasts = one.submit("lasts.yaml")
after = one.submit("job.yaml", suffix="-after", after=[first])
lasts.cancel()
ends = [run.wait(timeout=240) for run in (first, second, lasts, after)]
try:
    one.submit("job.yaml", suffix="-no", slurm={"partition": "no-such"})
    refused = None
except paislurm.PaislurmError as error:
    refused = [type(error).__name__, error.diagnostics[0].code]
json.dump({
    "states": [end.state for end in ends],
    "logs": [run.logs("a-0")["a-0"] for run in (first, second)],
    "ids": [end.job_id for end in ends],
    "names": [sorted(line.name.rpartition("~")[2] for line in client.jobs()) for client in (one, two)],
    "found": one.find(ends[0].job_id) == first,
    "refused": refused,
}, sys.stdout)
"""
RUN = 'exec "$(sed -n "1s/^#!//p" "$(command -v paislurm)")" "$@"'
"""The Python that has the program has the package."""


def python(site: Site, here: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = site.run("sh", "-c", RUN, "python", *words, cwd=here, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done


def test_two_clients_in_one_process(site: Site, folder: Path) -> None:
    here = site.own(folder / "here")
    site.write(here, "site.yaml", merged(site.profile, ONE_ATTEMPT))
    site.write(
        here, "job.yaml", job_text("short", role("a", 1, "echo <% $parameters.word %>")) + "parameters: {word: a}\n"
    )
    site.write(here, "lasts.yaml", job_text("lasts", role("a", 1, "sleep 600")))
    found = json.loads(python(site, here, str(site.write(here, "program.py", PROGRAM))).stdout)
    assert found["states"] == ["SUCCEEDED", "SUCCEEDED", "STOPPED", "SUCCEEDED"]
    assert found["logs"] == ["hello\n", "0.5\n"]
    assert all(re.fullmatch(r"\d+", each) for each in found["ids"][:2])
    assert found["names"] == [["lasts", "short", "short-after"], ["short"]]
    assert found["found"]
    assert found["refused"] in (["RejectedError", "E503"], ["PlanError", "E402"])

"""Each example of the page about code and environment runs, and its commands find what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ...protocol.jobs import JOB, changed
from ..running import PROGRAM, job_file

ROOT = Path(__file__).parents[4]
PAGES = [ROOT / "docs/how-to/jobs" / name for name in ("code-and-environment.md", "modules.md")]
EXAMPLES = [
    example
    for page in PAGES
    for example in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]
MODULES = Path("/etc/profile.d/modules.sh")
MODULEFILE = "#%Module\nprepend-path PATH {}\n"
CONDA = """
conda() {
  [ -z "$NOBODY_HAS_SET_THIS" ] && [ "$1" = activate ] && export CONDA_DEFAULT_ENV=$2 PATH=$HOME/envs/$2/bin:$PATH
}
"""
SAYS = "import os, sys; print('FILE', *sys.argv[1:2], os.getcwd(), os.environ.get('VIRTUAL_ENV'))\n"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with code, and what a user has installed: an environment of venv, and stand-ins for conda and a tool."""
    folder = tmp_path / "here"
    for name in ("train.py", "eval/eval.py"):
        program(folder / name, SAYS.replace("FILE", Path(name).name))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True, timeout=60)
    program(tmp_path / "miniconda3/etc/profile.d/conda.sh", CONDA)
    program(tmp_path / "envs/science/bin/python", '#!/bin/sh\necho "$CONDA_DEFAULT_ENV has run $1 in $PWD"\n')
    program(tmp_path / "bin/tool", "#!/bin/sh\necho this is the tool\n")
    program(tmp_path / "modules/tool/1", MODULEFILE.format(tmp_path / "bin"))
    return folder


def test_every_example_is_run() -> None:
    assert len(EXAMPLES) == len(EXPECTED) == 8


EXPECTED = {
    'python3 "$PAISLURM_SUBMIT_DIR/train.py"': r"train\.py HOME/jobs/.*/work/0-worker/0 None",
    "--output": r"train\.py --output HERE None",
    "eval.py": r"eval\.py HERE/eval None",
    "test -z": "",
    "- module load tool/1\n  - tool\n```": "this is the tool",
    "module purge": "this is the tool",
    ".venv/bin/activate": r"train\.py HERE HERE/\.venv",
    "conda activate": r"science has run train\.py in HERE",
}


@pytest.mark.slow("a whole job each")
@pytest.mark.parametrize("part", EXPECTED)
def test_the_example_prints_the_documented_output(here: Path, part: str) -> None:
    (example,) = [text for text in EXAMPLES if part in f"{text}```"]
    if "module" in example and not MODULES.exists():
        pytest.skip("needs Environment Modules (environment-modules of Debian)")
    written = yaml.safe_load(example)
    job = changed(changed(JOB, "taskRoles/worker/commands", written["commands"]), "taskRoles/worker/instances", 1)
    file = job_file(here, yaml.safe_dump(changed(job, "extras", written.get("extras", {}))))
    defined = f"source {MODULES}; module use '{here.parent}/modules';" if "module" in example else ""
    done = subprocess.run(
        ["bash", "-c", f'{defined} exec "$@"', "bash", *PROGRAM, "submit", file, "--backend", "local", "--wait"],
        env={**os.environ, "HOME": str(here.parent), "DATA_SET": "small", "LICENSE": "no"},
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    home = os.environ["PAISLURM_HOME"]
    (attempt,) = Path(home).glob("jobs/*/attempts/0")
    assert done.returncode == 0, (done.stderr, (attempt / "logs/0-worker/0.stderr.log").read_text())
    printed = (attempt / "logs/0-worker/0.stdout.log").read_text().strip()
    expected = EXPECTED[part].replace("HOME", re.escape(home)).replace("HERE", re.escape(str(here)))
    assert re.fullmatch(expected, printed), printed

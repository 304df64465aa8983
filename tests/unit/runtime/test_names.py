"""The script's own variables and those of the submitting shell, which may have the same names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from paislurm.translator.rendering.bash import own_names, runtime

from .bash import run, sourced

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATES = Path(__file__).parents[3] / "templates"
FOREIGN = re.compile(
    "(BASH_ENV|CURL_CA_BUNDLE|FRAMEWORK_NAME|GLOO_SOCKET_IFNAME|HOME|IFS|LANG|LC_ALL|OPTIND|PATH|REQUESTS_CA_BUNDLE|"
    "SHELL|SSL_CERT_FILE|TERM|TMPDIR|UCX_TLS|USER)$|"
    "(PAI|FC|SLURM|CUDA|NVIDIA|MELLANOX|PAISLURM|CH_IMAGE|ENROOT|OMPI|PRTE|ROCR)_"
)
"""What scripts set for others to read."""
SETS = (
    r"(?<![\w$\"/-])([A-Z][A-Z0-9_]*)(?:\[[^]\n]*\])?\+?=",
    r"\{([A-Z][A-Z0-9_]*)\}[<>]",
    r"\bread [^\n;<]*?\b([A-Z][A-Z_]+)\b",
)


def assigned() -> Iterator[str]:
    files = [*TEMPLATES.glob("runtime/*/*.sh"), *TEMPLATES.glob("parts/*.j2")]
    for file in files:
        code = re.sub(r"(?m)(?:^|\s)#.*", "", file.read_text())
        for pattern in SETS:
            yield from re.findall(pattern, code)


def test_all_names_are_listed() -> None:
    found = {name for name in assigned() if not FOREIGN.match(name)} - {"SUBMITTED"}
    listed = re.search(r"OWN='\n(.*?)'", own_names(), re.DOTALL)
    assert listed
    assert listed[1].split() == sorted(found)


def test_they_are_kept_apart_and_reach_the_commands(tmp_path: Path) -> None:
    """The batch script writes them down; a task, which has none of them, hands them to what it runs."""
    exported = {"FABRIC": "ib", "BEFORE": "x", "OUT": "it's\n$(here)", "RANK": "7", "NODES": "4", "MINE": "stays"}
    code = f"set -u\n{own_names()}\n{sourced()}\necho ${{FABRIC-none}} ${{BEFORE-none}} $MINE >&2; print_submitted"
    batch = subprocess.run(
        ["bash", "-p", "-c", code, "job.sbatch"],
        env={"PATH": "/usr/bin:/bin", **exported},
        capture_output=True,
        text=True,
        check=True,
    )
    assert batch.stderr == "none none stays\n"
    (tmp_path / "placement.sh").write_text(batch.stdout)
    printed = 'printf \'%s\\0\' "$FABRIC" "$BEFORE" "$OUT" "$RANK" "$NODES"'
    (tmp_path / "commands.sh").write_text(printed)
    as_task = f"set -- --task\n{own_names()}\n"
    task = f"{as_task}source {tmp_path}/placement.sh\nRANK=0 NODES=(a b)\nbecome bash {tmp_path}/commands.sh"
    assert run(task).split("\0")[:-1] == list(exported.values())[:5]
    assert run(f"{as_task}become bash -c 'echo ${{RANK-none}}'") == "none\n"


def test_what_a_script_exports_goes_before_what_was_submitted() -> None:
    """In the commands, and in what is called in the task, by a terminal or without."""
    exports = "EXPORTS=$'declare -x OUT=\"new\"'; SUBMITTED=(OUT=old RANK=7)"
    for start in ("bash -c", "sh -c 'exec bash -c \"$1\"' sh"):
        code = f"{exports}\nbecome {start} 'echo $OUT $RANK ${{BASH_ENV-none}}'"
        assert run(code) == "new 7 none\n"


def test_what_may_not_be_written_to_is_removed() -> None:
    """As nobody, who has no rights beyond those of the folders."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        inner = folder / "calls" / "0.0.root" / "upper" / "root"
        code = f"""
            mkdir -p {inner} && touch {inner}/file && chmod 0550 {inner} && chmod 0500 {inner.parent}
            remove_trees {folder}/calls {folder}/nothing; echo $?
        """
        (folder / "code.sh").write_text(f"set -u\n{runtime()}\n{code}")
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", str(folder / "code.sh")]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("0\n", "")
        assert not (folder / "calls").exists()

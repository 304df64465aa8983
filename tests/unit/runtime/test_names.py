"""The script's own variables and those of the submitting shell, which may have the same names."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.shell import quote

from .bash import library, run

HELLO = (Path(__file__).parents[3] / "examples" / "hello-world.yaml").read_text()
TEMPLATES = Path(__file__).parents[3] / "templates"
FOREIGN = re.compile(
    "(BASH_ENV|CURL_CA_BUNDLE|FRAMEWORK_NAME|GLOO_SOCKET_IFNAME|HOME|IFS|LANG|LC_ALL|OPTIND|PATH|REQUESTS_CA_BUNDLE|"
    "NCCL_IB_(?:HCA|GID_INDEX)|OMP_NUM_THREADS|PDSH_RCMD_TYPE|SHELL|SSL_CERT_FILE|TERM|TMPDIR|UCX_(?:TLS|IB_GID_INDEX)|USER)$|"
    "(PAI|FC|SLURM|CUDA|NVIDIA|MELLANOX|PAISLURM|PSL|CH_IMAGE|ENROOT|OMPI|PRTE|ROCR|HIP|HYDRA|I_MPI)_"
)
"""What scripts set for others to read, and their own."""
SETS = (
    r"(?<![\w$\"/-])([A-Z][A-Z0-9_]*)(?:\[[^]\n]*\])?\+?=",
    r"\{([A-Z][A-Z0-9_]*)\}[<>]",
    r"\bread [^\n;<]*?\b([A-Z][A-Z_]+)\b",
)


def assigned() -> Iterator[str]:
    for file in [*TEMPLATES.glob("runtime/*/*.sh"), *TEMPLATES.glob("parts/*.j2")]:
        code = re.sub(r"(?m)(?:^|\s)#.*", "", file.read_text())
        for pattern in SETS:
            yield from re.findall(pattern, code)


def test_all_variables_have_the_prefix() -> None:
    assert {name for name in assigned() if not FOREIGN.match(name)} == set()


def test_local_variables_do_not_replace_exported_ones() -> None:
    """Bash exports a local variable that has the name of an exported one."""
    exported = {"index": "5", "status": "it's\n$(here)", "http_proxy": "p:1", "MINE": "stays"}
    printed = 'printf \'%s\\0\' "$index" "$status" "$http_proxy" "$MINE" "${BASH_ENV-none}"'
    shadow = f"shadow() {{ local index=0 status=1; exec_with_exports bash -c {quote(printed)}; }}"
    launch = f"PSL_ROLE=0\n{shadow}\nstart_up; shadow"
    assert run(launch, env=exported).split("\0")[:-1] == [*exported.values(), "none"]
    # What a script before the commands exports wins.
    later = launch.replace("status=1;", "status=1 PSL_EXPORTS='export index=9';")
    assert run(later, env=exported).split("\0")[0] == "9"


def test_prefixed_variables_are_not_taken_from_the_environment() -> None:
    script = compile_job(HELLO).script
    probe = script[: script.index("# The job: settings")] + 'echo "${PSL_GANG-none} ${PSL_ROLE_NAME-none}"\n'
    done = subprocess.run(
        ["bash", "-p", "-c", probe],
        env={"PATH": "/usr/bin:/bin", "PSL_GANG": "0", "PSL_ROLE_NAME": "x", "POSIXLY_CORRECT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("none none\n", "")


def test_read_only_files_are_removed() -> None:
    """As nobody, who has no rights beyond those of the folders."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        inner = folder / "calls" / "0.0.root" / "upper" / "root"
        code = f"""
            mkdir -p {inner} && touch {inner}/file && chmod 0550 {inner} && chmod 0500 {inner.parent}
            remove_trees {folder}/calls {folder}/nothing; echo $?
        """
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        text = f"set -u\n{library()}\n{code}"
        done = subprocess.run([*nobody, "bash"], input=text, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("0\n", "")
        assert not (folder / "calls").exists()

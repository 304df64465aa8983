"""The command lines of container runtimes, which stand-ins check against the manuals."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from . import standin
from .bash import sourced

PASSWORD = 'a"b\\c$e'
DIGEST = "sha256:" + "4" * 64
INSIDE = ["-p", "/run/job/attempts/2/job.sbatch", "--inside", "/run/job", "2", "1", "3", "5", "0"]
SETTINGS = """
PSL_MOUNTS=(all /data /data own /lustre /mnt/team)
PSL_IMAGE_OF[1]=@IMAGE@ PSL_SHM_OF[1]=700 PSL_ROLE_GPUS[1]=0
SLURMD_NODENAME=n1 PSL_FOLDER=/run/job PSL_ATTEMPT=2
PSL_ATTEMPT_FOLDER=/run/job/attempts/2 PSL_SCRIPT=/run/job/attempts/2/job.sbatch
PSL_ROLE=1 PSL_SLOT=3 PSL_NODE_FOLDER=/tmp/calls PSL_JOB_USER=me PSL_GANG=1 PSL_STDERR_LOG=/dev/stderr
exec {PSL_REPORT_FD}>/dev/null {PSL_CONTROL_FD}>/dev/null
mkdir() { :; }
is_own_part() { :; }
"""


def bash(folder: Path, name: str, code: str, image: str = "/images/one", programs: str = "") -> str:
    """Run bash after the runtime with stand-ins, and return what it prints."""
    tools = standin.install(folder, ["podman", "apptainer", "singularity", "enroot", "ch-image"])
    settings = SETTINGS.replace("@IMAGE@", image)
    done = subprocess.run(
        ["bash", "-c", f"set -u\nPSL_CONTAINER_RUNTIME={name}\n{sourced(name)}\n{settings}\n{code}"],
        env={"PATH": f"{tools}:{programs or os.environ['PATH']}", "HOME": "/home/me", "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ENTER = 'find_binds && mkdir() { command mkdir "$@"; } && mkdir -p ROOT && (become_container ROOT 5 0)'
BINDS = [("/run/job", "/run/job"), ("/data", "/data"), ("/lustre/me", "/mnt/team")]
PODMAN = [
    "--rm", "--pull=never", "--log-driver=none", "--network=host", "--uts=host", "--cgroups=disabled",
    "--preserve-fds=1", "--workdir=/", "--entrypoint=bash", "--security-opt=label=disable", "--ulimit=host",
    "--shm-size=700m", "--env=HOME=/root", "--env=USER=me", "--volume=ROOT/hosts:/etc/hosts",
    "--volume=/tmp/calls:/tmp/calls", *(f"--volume={path}:{point}" for path, point in BINDS),
]  # fmt: skip
APPTAINER = [
    "--silent", "exec", "--cleanenv", "--no-home", "--no-mount=tmp", "--no-mount=cwd", "--pwd=/",
    "--bind=ROOT/tmp:/tmp", "--bind=/tmp/calls:/tmp/calls", "--bind=ROOT/hosts:/etc/hosts",
]  # fmt: skip
APPTAINER_BINDS = [f"--bind={path}:{point}" for path, point in BINDS]
ENROOT = [
    "start", "--rw", "--root", "--rc=ROOT/rc", "--mount=/tmp/calls:/tmp/calls:none:x-create=dir,bind",
    "--mount=ROOT/hosts:/etc/hosts:none:x-create=file,bind",
    "--mount=tmpfs:/dev/shm:tmpfs:x-create=dir,size=700m,mode=1777",
    *(f"--mount={path}:{point}:none:x-create=dir,rbind" for path, point in BINDS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "image", "line"),
    [
        ("podman", "/images/one", ["podman", "run", *PODMAN, "--rootfs", "/images/one:O"]),
        ("podman", f"r.io/a@{DIGEST}", ["podman", "run", *PODMAN, f"r.io/a@{DIGEST}"]),
        ("apptainer", "/i.sif", ["apptainer", *APPTAINER, "--overlay=ROOT/overlay", *APPTAINER_BINDS, "/i.sif"]),
        ("singularity", "/i", ["singularity", *APPTAINER, "--writable-tmpfs", *APPTAINER_BINDS, "/i"]),
        ("pyxis", "/i.sqsh", ["enroot", *ENROOT, "/i.sqsh"]),
    ],
)  # fmt: skip
def test_the_command_line_of_a_task(tmp_path: Path, name: str, image: str, line: list[str]) -> None:
    root = tmp_path / "root"
    bash(tmp_path, name, ENTER.replace("ROOT", str(root)), image)
    (call,) = standin.calls(tmp_path) if name != "singularity" else _as_apptainer(tmp_path)
    *call, process = call
    assert call == [word.replace("ROOT", str(root)) for word in line] + ["bash"] * (name != "podman") + INSIDE
    assert process.isdigit()


RANKS = """
PSL_RANKS_OF[1]=2
PSL_RANKS=2 PSL_NODE_FOLDER=/tmp/calls-@PID@ SLURM_JOB_ID=7 SLURM_STEP_ID=0 PMI_FD=10 SLURM_MPI_TYPE=x
export PMIX_SERVER_TMPDIR=@FOLDER@/pmix.7.0/ PMIX_SYSTEM_TMPDIR=@FOLDER@ PMI_FD PMIX_RANK=3 PMI_RANK=3
find_binds; mkdir() { command mkdir "$@"; }
mkdir -p @ROOT@ @FOLDER@/pmix.7.0 @FOLDER@/spmix_appdir_7.0; exec 10</dev/null
prepare_ranks @ROOT@; write_rank_variables @ROOT@/environment
(become_container @ROOT@ 5 0)
cat @ROOT@/environment; rmdir "$PSL_RANK_MEMORY"
"""
PMIX = ("@FOLDER@/pmix.7.0", "@FOLDER@/spmix_appdir_7.0")
MEMORY = "/dev/shm/calls-@PID@-ranks"
NO_ROOT = "--mount=tmpfs:/dev/shm:tmpfs:x-create=dir,size=700m,mode=1777"


@pytest.mark.parametrize(
    ("name", "image", "added", "removed"),
    [
        (
            "podman",
            "/i",
            [f"--volume={MEMORY}:/dev/shm", "--userns=keep-id", "--env=HOME=/home/me",
             *(f"--volume={folder}:{folder}" for folder in PMIX), "--preserve-fds=2"],
            ["--preserve-fds=1", "--shm-size=700m", "--env=HOME=/root"],
        ),
        ("apptainer", "/i.sif", ["--userns", *(f"--bind={folder}:{folder}" for folder in PMIX)], []),
        (
            "pyxis",
            "/i.sqsh",
            [f"--mount={MEMORY}:/dev/shm:none:x-create=dir,bind",
             *(f"--mount={folder}:{folder}:none:x-create=dir,bind,rw,nosuid,noexec,nodev,private" for folder in PMIX)],
            ["--root", NO_ROOT],
        ),
    ],
)  # fmt: skip
def test_the_command_line_of_a_rank(
    tmp_path: Path, name: str, image: str, added: list[str], removed: list[str]
) -> None:
    """Beside that of a task without ranks. The line is checked, and no runtime runs."""
    places = {"@ROOT@": str(tmp_path / "root"), "@FOLDER@": str(tmp_path), "@PID@": str(os.getpid())}

    def placed(text: str) -> str:
        for word, path in places.items():
            text = text.replace(word, path)
        return text

    bash(tmp_path, name, ENTER.replace("ROOT", places["@ROOT@"]), image)
    said = bash(tmp_path, name, placed(RANKS), image)
    usual, call = (
        [word for word in each if not word.isdigit() and word != "--ipc=host"] for each in standin.calls(tmp_path)
    )
    usual, call = (
        [word.replace("/tmp/calls-" + places["@PID@"], "/tmp/calls") for word in each] for each in (usual, call)
    )
    assert [word for word in call if word not in usual] == [placed(word) for word in added]
    assert [word for word in usual if word not in call] == removed
    variables = dict(re.findall(r'^declare -x (PMI\w+)="?([^"\n]*)"?$', said, re.MULTILINE))
    assert (variables["PMIX_RANK"], variables["PMI_FD"]) == ("3", "4" if name == "podman" else "10")


@pytest.mark.parametrize(
    ("settings", "reaches"),
    [
        ("SLURM_MPI_TYPE=pmix PMIX_RANK=0 PMIX_SERVER_TMPDIR=/tmp", True),
        ("SLURM_MPI_TYPE=pmix_v5 PMIX_RANK=0 PMIX_SERVER_TMPDIR=/nowhere", False),
        ("SLURM_MPI_TYPE=pmix", False),
        ("SLURM_MPI_TYPE=pmi2 PMI_RANK=0 PMI_FD=2", True),
        ("SLURM_MPI_TYPE=pmi2 PMI_RANK=0 PMI_FD=77", False),
        ("SLURM_MPI_TYPE=cray_shasta", True),
    ],
)
def test_a_rank_checks_that_it_can_reach_its_server(tmp_path: Path, settings: str, *, reaches: bool) -> None:
    said = bash(tmp_path, "charliecloud", f"{settings} SLURM_PROCID=3; check_pmi 2>&1 || true")
    assert ("error: rank 3 cannot reach the server of pmi" in said) != reaches


def _as_apptainer(folder: Path) -> list[list[str]]:
    """Return the calls of Singularity, which has the options of Apptainer."""
    file = folder / "calls"
    file.write_text(file.read_text().replace("singularity\0", "apptainer\0", 1))
    return [["singularity", *call[1:]] for call in standin.calls(folder)]


@pytest.mark.parametrize(
    ("folder", "workdirs", "bound"),
    [
        ("HERE", "submit", ["HERE", "HERE"]),
        ("HERE", "/data' [1]='submit", ["HERE", "HERE"]),
        ("HERE", "./a submit b", ["HERE", "HERE"]),
        ("HERE", "/data submit ./x", []),
        ("HERE", "/data", []),
        ("HERE/missing", "submit", []),
        ("/", "submit", []),
        ("/usr", "submit", []),
    ],
)
def test_the_submit_folder_is_available_in_a_container(
    tmp_path: Path, folder: str, workdirs: str, bound: list[str]
) -> None:
    """It comes first, so that it hides nothing else that is mounted."""
    here = str(tmp_path)
    settings = f"PSL_WORKDIR=([0]='{workdirs}') PSL_SUBMIT_DIR={folder.replace('HERE', here)}\n"
    code = settings + "find_binds; printf '%s\\n' \"${PSL_BINDS[@]}\""
    others = [path for pair in BINDS for path in pair]
    expected = [word.replace("HERE", here) for word in bound] + others
    assert bash(tmp_path, "podman", code).splitlines() == expected


def test_variables_of_the_node_are_set_in_a_container(tmp_path: Path) -> None:
    """Those of devices, networks and MPI, and of the others what the job lists; the image has a PATH of its own."""
    code = """
        export LICENSE=a MY_KEY=b OTHER=c NCCL_DEBUG=INFO LD_LIBRARY_PATH=/x; PSL_PORT_LINES=()
        shown() { write_variables FILE; grep -o -e LICENSE= -e MY_KEY= -e OTHER= -e NCCL_DEBUG= -e PATH= FILE | sort; }
        shown; PSL_EXPORT_ENV='LICENSE|MY_*|PATH|LD_LIBRARY_PATH'; echo then; shown
    """.replace("FILE", str(tmp_path / "environment"))
    assert bash(tmp_path, "podman", code).split() == ["NCCL_DEBUG=", "then", "LICENSE=", "MY_KEY=", "NCCL_DEBUG="]


@pytest.mark.parametrize(
    ("name", "image", "added"),
    [
        ("podman", "/i", ["--device=/dev/null", "--device=/dev/zero"]),
        ("pyxis", "/i.sqsh", ["--env=NVIDIA_VISIBLE_DEVICES", "--env=NVIDIA_DRIVER_CAPABILITIES=all"]),
    ],
)
def test_a_container_gets_the_devices_of_its_task(tmp_path: Path, name: str, image: str, added: list[str]) -> None:
    code = "PSL_ROLE_GPUS[1]=2; find_devices() { PSL_DEVICES=(/dev/null /dev/zero); }; "
    bash(tmp_path, name, code + ENTER.replace("ROOT", str(tmp_path / "root")), image)
    (call,) = standin.calls(tmp_path)
    assert [word for word in call if word in added] == added


@pytest.mark.parametrize("path", ["/with:colon", "/with,comma", "/with\\\\backslash"])
@pytest.mark.parametrize("name", ["podman", "apptainer", "pyxis"])
def test_a_path_invalid_in_container_options_is_refused(tmp_path: Path, name: str, path: str) -> None:
    code = f"PSL_BINDS=('{path}' /data); prepare_runtime {tmp_path} 2>&1 && echo taken; true"
    assert "can mount no path with a comma, colon or backslash" in bash(tmp_path, name, code, str(tmp_path))


def test_special_characters_of_a_path_are_escaped_in_an_fstab(tmp_path: Path) -> None:
    """As fstab(5) has them, each once."""
    code = "print_mount $'/a b\\t\\\\040' /c none bind"
    assert bash(tmp_path, "charliecloud", code) == "/a\\040b\\011\\134040 /c none bind 0 0\n"


FETCH = f"""
PSL_KIND='' PSL_PROBLEM='' PSL_CERTIFICATES=/etc/ca.pem PSL_LOGIN_USER=me PSL_LOGIN_PASSWORD='{PASSWORD}' PSL_CACHE=ROOT
mkdir() {{ command mkdir "$@"; }}
fetch_by_runtime ROOT/new r.io:5000 team/tiny {DIGEST} || echo "$PSL_KIND: $PSL_PROBLEM"
"""
PULLS = {
    "podman": ["podman", "pull", "--quiet", "--authfile=", f"r.io:5000/team/tiny@{DIGEST}"],
    "apptainer": ["apptainer", "pull", "--disable-cache", "ROOT/new", f"docker://r.io:5000/team/tiny@{DIGEST}"],
    "pyxis": ["enroot", "import", "--output", "ROOT/new", f"docker://r.io:5000#team/tiny:{DIGEST}"],
}


@pytest.mark.parametrize("name", PULLS)
def test_an_image_is_fetched_with_the_runtime_command(tmp_path: Path, name: str) -> None:
    assert bash(tmp_path, name, FETCH.replace("ROOT", str(tmp_path))) == ""
    (call,) = standin.calls(tmp_path)
    shown = ["--authfile=" if word.startswith("--authfile=") else word for word in call]
    assert shown == [word.replace("ROOT", str(tmp_path)) for word in PULLS[name]]
    assert not any(PASSWORD in word for word in call)
    given = standin.environment(tmp_path)
    assert given["CURL_CA_BUNDLE" if name == "pyxis" else "SSL_CERT_FILE"] == "/etc/ca.pem"
    if name == "apptainer":
        assert (given["APPTAINER_DOCKER_USERNAME"], given["APPTAINER_DOCKER_PASSWORD"]) == ("me", PASSWORD)
    elif name == "podman":
        word = json.loads((tmp_path / "login").read_text())["auths"]["r.io:5000"]["auth"]
        assert base64.b64decode(word).decode() == f"me:{PASSWORD}"
        assert list(tmp_path.glob("paislurm.*")) == []
    else:
        assert (tmp_path / "login").read_text() == f"machine r.io login me password {PASSWORD}\n"


@pytest.mark.parametrize(
    ("name", "says", "kind"),
    [
        ("podman", "Error: initializing source: unauthorized: no", "permanent"),
        ("podman", "Error: dial tcp: lookup r.io: no such host", "transient"),
        ("apptainer", "FATAL:   While making image: manifest unknown", "permanent"),
        ("apptainer", "FATAL:   While making image: connection reset by peer", "transient"),
        ("pyxis", "[ERROR] URL https://r.io/v2/x returned error code: 401 Unauthorized", "permanent"),
        ("pyxis", "[ERROR] Could not resolve host: r.io", "transient"),
        ("charliecloud", "error: unauthorized or not in registry: x", "permanent"),
        ("charliecloud", "error: GET failed: connection reset", "transient"),
        ("charliecloud", "Traceback (most recent call last):", "permanent"),
    ],
)
def test_failed_fetches_are_classified(tmp_path: Path, name: str, says: str, kind: str) -> None:
    (tmp_path / "says").write_text(says + "\n")
    assert bash(tmp_path, name, FETCH.replace("ROOT", str(tmp_path))).startswith(f"{kind}: ")


@pytest.mark.parametrize(
    ("nodes", "given", "wanted"),
    [
        ("n1 n1", "", "^posix,cma"),
        ("n1 n2", "", "unset"),
        ("n2 n10 n1", "", "unset"),
        ("n1' 'n2 n1", "", "^posix,cma"),
        ("n1 n1", "rc,ud,sm,self,cuda", "rc,ud,sysv,self,cuda"),
        ("n1 n1", "shm", "sysv"),
        ("n1 n1", "tcp,self", "tcp,self"),
        ("n1 n2", "rc,sm,self", "rc,sm,self"),
    ],
)
def test_ucx_transports_are_limited_for_containers_on_one_node(
    tmp_path: Path, nodes: str, given: str, wanted: str
) -> None:
    """Two tasks of a job on the node of this one, or it alone."""
    code = f"PSL_NODES_OF=('{nodes}') {f'UCX_TLS={given}' if given else ''}\n" + 'limit_ucx; echo "${UCX_TLS-unset}"'
    assert bash(tmp_path, "charliecloud", code) == f"{wanted}\n"

"""What another user has made in the places that all users write to: nothing of ours is put there, and nothing taken."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from paislurm.translator.rendering.runtime_bundle import program
from tests.cluster.instance import GROUP, NUMBERS
from tests.unit.inherited import inherit, open_to

from .bash import library

pytestmark = pytest.mark.root("to be two users")
ALICE, BOB = (NUMBERS[name] for name in ("alice", "bob"))
TASK = """
PSL_GANG=1 PSL_ROLE_NAME=(worker) PSL_ROLE_FOLDER=(0-worker) PSL_NODES_OF=(n1) PSL_ROLE=0 PSL_SLOT=0
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder like /tmp."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o1777)
        yield folder


def made_by(user: int, path: Path) -> Path:
    """Make a folder that everybody can write to, as who wants to be written to does."""
    path.mkdir()
    path.chmod(0o777)
    os.chown(path, user, GROUP)
    return path


def run_as_alice(folder: Path, code: str, containers: str = "none") -> tuple[str, str]:
    """Run functions of the runtime, with the folder for calls in `folder`; return what they print."""
    settings = f"set -u\nPSL_CONTAINER_RUNTIME={containers} SLURMD_NODENAME=n1"
    (folder / "code.sh").write_text(
        f"{settings}\n{library(containers)}\nPSL_NODE_FOLDER={folder}/calls\n{TASK}\n{code}"
    )
    argv = ["setpriv", f"--reuid={ALICE}", f"--regid={GROUP}", "--clear-groups", "bash", "-p"]
    done = subprocess.run([*argv, str(folder / "code.sh")], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout, done.stderr


def refusal(folder: Path) -> str:
    return f"paislurm: error: the folder for calls, {folder}/calls on n1, is gone or another user's"


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_task_without_a_folder_of_its_own_ends(shared: Path, kind: str) -> None:
    """A link leads to a folder of alice's, where files of hers would be made."""
    if kind == "folder":
        made_by(BOB, shared / "calls")
    else:
        made_by(ALICE, shared / "hers")
        (shared / "calls").symlink_to(shared / "hers")
    printed, said = run_as_alice(
        shared, 'make_control_fifos 0.0; echo "$?"; prepare_task 0 0; echo "$? $PSL_CODE $PSL_BEHAVIOUR"'
    )
    assert printed.split("\n") == ["1", "1 252 transient", ""]
    assert [line.startswith(refusal(shared)) for line in said.splitlines()] == [True, True]
    assert list((shared / "calls").iterdir()) == []


def test_a_fifo_of_another_user_is_neither_read_nor_written(shared: Path) -> None:
    calls = made_by(BOB, shared / "calls")
    os.mkfifo(calls / "0.0")
    (calls / "0.0").chmod(0o666)
    code = """
        open_control_fifo 0.0 && readlink "/proc/self/fd/$PSL_CONTROL_FD"
        send_call "$PSL_NODE_FOLDER/0.0" 'a secret command' </dev/null; echo "$?"
        mark_control_fifos ready; close_control_fifo 0.0; clean_up_node; echo "$?"
    """
    printed, said = run_as_alice(shared, code)
    pipe, *statuses = printed.split()
    assert pipe.startswith("pipe:")
    assert statuses == ["255", "0"]
    assert "no task answers" in said
    assert [path.name for path in calls.iterdir()] == ["0.0"]


def test_the_target_of_a_link_is_not_changed(shared: Path) -> None:
    calls = made_by(BOB, shared / "calls")
    hers = shared / "hers"
    hers.write_text("text")
    os.chown(hers, ALICE, GROUP)
    (calls / "0.0.ended").symlink_to(hers)
    run_as_alice(shared, "close_control_fifo 0.0")
    assert hers.read_text() == "text"


def test_shared_memory_of_another_user_is_not_used(shared: Path) -> None:
    """What is called ends, where mpirun would have begun in the other user's folder."""
    name = shared.name
    memory = made_by(BOB, Path(f"/dev/shm/{name}-0.0"))
    try:
        (shared / "call").mkdir(mode=0o755)
        (shared / "call" / "command").write_text('echo "ran in ${OMPI_MCA_btl_sm_backing_directory-none}"')
        code = f"PSL_NODE_FOLDER=/tmp/{name} PSL_EXPORTS=''; run_remote_command {shared}/call"
        argv_output, said = run_as_alice(shared, f"({code}); echo $?")
        assert argv_output == "255\n"
        assert f"error: /dev/shm/{name}-0.0 on n1 is another user's" in said
        assert list(memory.iterdir()) == []
        memory.rmdir()
        assert run_as_alice(shared, f"{code}")[0] == f"ran in /dev/shm/{name}-0.0\n"
        assert (memory.stat().st_uid, memory.stat().st_mode & 0o777) == (ALICE, 0o700)
    finally:
        memory.rmdir()


def test_the_folder_for_calls_has_an_unpredictable_name(shared: Path) -> None:
    """Not even who knows the number of the process and the time, of which bash makes its own random numbers."""
    printed, _ = run_as_alice(
        shared, "PSL_RUN_ID=7-0; for n in 1 2 3; do RANDOM=1; name_node_folder; echo $PSL_NODE_FOLDER; done"
    )
    names = printed.split()
    assert len({*names}) == 3
    assert all(len(name.removeprefix("/tmp/paislurm-7-0-")) == 12 for name in names)


def test_a_manual_run_in_a_project_folder_says_what_to_do(shared: Path) -> None:
    """The folder above is the group's, and the user's own folder in it is private."""
    place = made_by(ALICE, made_by(0, shared / "project") / "alice")
    place.chmod(0o700)
    place.parent.chmod(0o2770)
    os.chown(place.parent, 0, GROUP)
    code = f"PSL_JOB_NAME=demo SLURM_JOB_ID=7; (make_folder_by_hand '{place}'); echo $?"
    printed, said = run_as_alice(shared, code)
    assert printed == "4\n"
    assert said == (
        "paislurm: error: others could replace the run folder, because others can write to "
        f"{place.parent} (mode 2770): submit the script from a folder that only you can change, as your home, or use "
        "`paislurm submit`; nothing has run\n"
    )
    assert list(place.iterdir()) == []
    place.parent.chmod(0o2750)
    assert run_as_alice(shared, code)[0] == "0\n"
    assert (place / "demo-7").stat().st_mode & 0o777 == 0o700


IMAGES = """
umask 0077; PSL_IMAGE_CACHE={0}/images PSL_CACHE_SHARED=1 PSL_RUN_ID=7-0 PSL_PROBLEM=''
PSL_REFERENCE_OF=('r.example a/b 1') PSL_DIGEST_OF=(sha256:44)
fetch_with_retries() {{ mkdir -m 0777 -- "$1" && : >"$1/program"; }}
if find_cache; then
  PSL_IMAGE_OF=("$(place_of_image r.example a/b sha256:44)")
  {1}
fi
echo "$PSL_PROBLEM"
"""
FETCH = "all_images_are_there || fetch_image 0 && echo fetched"


@pytest.fixture
def images(shared: Path) -> Path:
    """A cache for the images of all users, and the user's own folder in it."""
    made_by(0, shared / "images").chmod(0o1777)
    name = subprocess.run(["id", "-nu", str(ALICE)], capture_output=True, text=True, check=False).stdout.strip()
    return shared / "images" / (name or str(ALICE))


def test_a_default_acl_does_not_open_cached_images(shared: Path, images: Path) -> None:
    inherit(images.parent, BOB)
    assert run_as_alice(shared, IMAGES.format(shared, FETCH), "charliecloud")[0] == "fetched\n\n"
    image = images / "a%b@44"
    assert (images.stat().st_mode & 0o777, image.stat().st_mode & 0o022) == (0o700, 0)
    assert open_to(BOB, GROUP, images) == []


def test_an_image_others_could_have_changed_is_not_used(shared: Path, images: Path) -> None:
    run_as_alice(shared, IMAGES.format(shared, FETCH), "charliecloud")
    image = images / "a%b@44"
    image.chmod(0o770)
    printed, _ = run_as_alice(shared, IMAGES.format(shared, FETCH), "charliecloud")
    assert printed == f"the image {image} could have been changed by another user: remove it\n"
    image.chmod(0o700)
    os.chown(image, BOB, GROUP)
    assert run_as_alice(shared, IMAGES.format(shared, FETCH), "charliecloud")[0] == printed


@pytest.mark.parametrize("kind", ["open", "another's", "link", "place"])
def test_a_cache_others_can_change_is_not_used(shared: Path, images: Path, kind: str) -> None:
    why = "not a folder of the user's own, to which no other user can write"
    if kind == "link":
        images.symlink_to(made_by(ALICE, shared / "hers"))
        os.chown(images, ALICE, GROUP, follow_symlinks=False)
        (shared / "hers").chmod(0o700)
    else:
        made_by(BOB if kind == "another's" else ALICE, images).chmod(0o770 if kind == "open" else 0o700)
    if kind == "place":
        images.parent.chmod(0o777)
        why = f"others can write to {images.parent} (mode 0777)"
    printed, _ = run_as_alice(shared, IMAGES.format(shared, FETCH), "charliecloud")
    assert printed == f"images cannot be kept in {images} on n1: {why}\n"


@pytest.mark.parametrize(("mode", "used"), [(0o1777, True), (0o700, True), (0o777, False)])
def test_a_temporary_folder_others_can_change_is_not_used(shared: Path, mode: int, used: bool) -> None:
    """What is read there is run, or holds a password."""
    made_by(ALICE, shared / "tmp").chmod(mode)
    printed, _ = run_as_alice(shared, f"TMPDIR='{shared}/tmp'; temporary_folder")
    assert printed == (f"{shared}/tmp" if used else "/tmp")


def test_a_manual_run_ignores_a_default_acl(shared: Path) -> None:
    """A default ACL goes before the umask."""
    place = made_by(ALICE, shared / "place")
    place.chmod(0o755)
    inherit(place, BOB)
    code = f"""
        umask 0077; SLURM_JOB_USER=alice PSL_JOB_NAME=demo SLURM_JOB_ID=7
        make_folder_by_hand '{place}'; enter_attempt; PSL_ROLE_NAME=() PSL_ROLE_FOLDER=(); lay_out_attempt
        (umask 0; mkdir one; echo >one/text)
    """
    run_as_alice(shared, code)
    assert (place / "demo-7/attempts/0/one/text").is_file()
    assert (place / "demo-7").stat().st_mode & 0o777 == 0o700
    assert open_to(BOB, GROUP, place / "demo-7") == []


OUTPUT = "PSL_MAKE_OUTPUT=1; die() {{ echo \"$1\"; exit 4; }}; cd '{0}'; ({1}); echo $?"


@pytest.mark.parametrize("kind", ["folder", "link", "closed"])
def test_an_output_folder_of_another_user_is_not_written_to(shared: Path, kind: str) -> None:
    """Below one that everybody can make folders in. A link of his leads to a folder of hers."""
    output = shared / "Output"
    made_by(0, output)
    if kind == "link":
        made_by(ALICE, shared / "hers")
        (output / "alice").symlink_to(shared / "hers")
        os.chown(output / "alice", BOB, GROUP, follow_symlinks=False)
    else:
        made_by(BOB, output / "alice").chmod(0o777 if kind == "folder" else 0o755)
    (shared / "env.sh").write_text(f"PAI_OUTPUT_DIR='{output}/alice/job'")
    printed, _ = run_as_alice(shared, OUTPUT.format(shared, "make_output"))
    reason, status, _ = printed.split("\n")
    assert reason == (f"the default outputDir cannot be trusted: another user owns {output}/alice")
    assert status == "4"


def test_an_own_output_folder_is_used(shared: Path) -> None:
    """Be it by a link that the site has made."""
    made_by(0, shared / "Output")
    made_by(ALICE, shared / "large")
    (shared / "Output" / "alice").symlink_to(shared / "large")
    (shared / "env.sh").write_text(f"PAI_OUTPUT_DIR='file://{shared}/Output/alice/job'")
    assert run_as_alice(shared, OUTPUT.format(shared, "make_output")) == ("0\n", "")
    assert (shared / "large" / "job").is_dir()


@pytest.mark.parametrize(("owner", "status"), [(ALICE, "0"), (BOB, "1")])
def test_a_private_storage_of_another_user_is_not_mounted(shared: Path, owner: int, status: str) -> None:
    made_by(owner, made_by(0, shared / "data") / "alice")
    for code in ("find_binds", "(set -e; PAI_USER_NAME=alice; {})"):
        plugin = program("storages")
        mounts = f"PSL_MOUNTS=(own {shared}/data /mnt) PSL_FOLDER=/run PSL_JOB_USER=alice"
        text = f"MOUNTS=$'own\\t{shared}/data\\t{shared}/data/alice'; {plugin}"
        words = f"{mounts}; {code}" if code == "find_binds" else code.format(text)
        printed, said = run_as_alice(shared, f"{words}; echo $?", "charliecloud")
        assert printed == f"{status}\n"
        assert ("belongs to another user" in said or "is another user's" in said) == (status == "1")


@pytest.mark.parametrize("kind", ["own", "het", "folder", "attempts", "open", "link", "script", "changed"])
def test_a_substituted_job_folder_is_not_executed(shared: Path, kind: str) -> None:
    """Bob could rename alice's folder while her job waited: what her script finds there is his.

    `het`: sbatch has left out the empty lines of what it was given, as it does with a heterogeneous job.
    """
    attempt = shared / "job" / "attempts" / "0"
    attempt.mkdir(parents=True)
    script = attempt / "job.sbatch"
    code = f"""
PSL_FOLDER={shared}/job PSL_ATTEMPT_FOLDER={attempt} PSL_SCRIPT={script}
cat "$0" >"$PSL_SCRIPT.new"; mv "$PSL_SCRIPT.new" "$PSL_SCRIPT"
[[ {kind} != het ]] || sed -i 's/^PSL_/\\n&/' "$PSL_SCRIPT"
[[ {kind} != changed ]] || echo 'touch victim' >>"$PSL_SCRIPT"
[[ {kind} != link ]] || {{ mv "$PSL_SCRIPT" "$PSL_SCRIPT.own"; ln -s "$PSL_SCRIPT.own" "$PSL_SCRIPT"; }}
(check_own_attempt; echo goes on)
echo "status $?"
"""
    for path in (shared / "job", attempt.parent, attempt):
        os.chown(path, ALICE, GROUP)
    if kind in ("folder", "attempts"):
        os.chown(shared / "job" if kind == "folder" else attempt.parent, BOB, GROUP)
    attempt.parent.chmod(0o1775 if kind == "open" else 0o755)
    attempt.chmod(0o755)
    if kind == "script":
        code = code.replace('cat "$0" >"$PSL_SCRIPT.new"; mv "$PSL_SCRIPT.new" "$PSL_SCRIPT"', "")
        script.write_text("touch victim\n", encoding="utf-8")
        os.chown(script, BOB, GROUP)
        script.chmod(0o644)
    out, err = run_as_alice(shared, code)
    if kind in ("own", "het"):
        assert (out, err) == ("goes on\nstatus 0\n", "")
    else:
        assert out == "status 4\n"
        assert "nothing has run" in err

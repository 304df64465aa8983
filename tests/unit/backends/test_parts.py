"""The parts of the backends that need no job: runner, environment, scripts read, host lists, choice."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from paislurm.backends import hostlist
from paislurm.backends.batch_script import components, seconds
from paislurm.backends.registry import BACKENDS, BackendDependencies, backend
from paislurm.backends.runner import LocalRunner, scrubbed
from paislurm.backends.slurm_emulator import scontrol
from paislurm.translator.errors import UnreachableError, UsageError
from tests.cluster.processes import wait_until


def test_the_runner_returns_status_and_both_outputs() -> None:
    program = "import sys; print(sys.stdin.read()); print('bad', file=sys.stderr); sys.exit(3)"
    done = LocalRunner().run([sys.executable, "-c", program], stdin="in", timeout=30)
    assert (done.status, done.stdout, done.stderr) == (3, "in\n", "bad\n")


def test_the_runner_replaces_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_THE_CALLER", "leaked")
    base = {"A": "two\nlines", "SBATCH_PARTITION": "leaked", "PATH": os.environ["PATH"]}
    done = LocalRunner().run(["env", "--null"], base=base, env={"B": "b"}, timeout=30)
    assert sorted(done.stdout.split("\0")) == ["", "A=two\nlines", "B=b", f"PATH={os.environ['PATH']}"]


def test_the_runner_removes_and_adds_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_PARTITION", "leaked")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    done = LocalRunner().run(["env"], env={"SLURM_TIME_FORMAT": "%s"}, timeout=30)
    lines = done.stdout.splitlines()
    assert "SLURM_TIME_FORMAT=%s" in lines
    assert "SLURM_CONF=/etc/slurm.conf" in lines
    assert "leaked" not in done.stdout


def test_a_missing_program_raises_unreachable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With folders that can be read: the PATH of a shell of another user may have others."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(UnreachableError, match="--backend local"):
        LocalRunner().run(["sbatch-that-is-nowhere"], timeout=30)


def test_a_program_timeout_raises_unreachable_error() -> None:
    with pytest.raises(UnreachableError, match="may or may not have done its work") as caught:
        LocalRunner().run(["sleep", "60"], timeout=0.1)
    assert caught.value.argv == ("sleep", "60")


def test_an_sbatch_that_waits_to_try_again_is_stopped_with_all_that_a_wrapper_started(tmp_path: Path) -> None:
    """Otherwise it would submit the job later."""
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    inner = f"exec 3<>{alive}; echo error: Slurm job queue full, sleeping and retrying >&2; sleep 600"
    done = LocalRunner().run(["bash", "-c", f"bash -c '{inner}'; true"], timeout=100)
    assert (done.status, "queue full" in done.stderr) == (-9, True)
    # The end of all its readers: a writer that does not wait finds none.
    wait_until(lambda: not _has_reader(alive), "all that was started to end", 20)


def _has_reader(fifo: Path) -> bool:
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def test_too_many_processes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def crowded(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("paislurm.backends.bounded_run.Popen", crowded)
    with pytest.raises(UnreachableError, match="too many processes on this machine") as caught:
        LocalRunner().run(["sbatch"], timeout=100)
    assert "ulimit -u" in caught.value.diagnostics[0].hint
    assert caught.value.is_refusal


def test_variables_of_slurm_mpi_and_the_shell_are_removed() -> None:
    names = "SLURM_JOB_ID SBATCH_QOS SRUN_X SALLOC_X PMI_RANK PMIX_RANK SQUEUE_SORT SACCT_FORMAT SCANCEL_X"
    shell = "SHELLOPTS BASHOPTS BASH_ENV ENV PS4"
    left = dict.fromkeys(f"{names} {shell}".split(), "1")
    others = {"ENVIRONMENT": "1", "BASH_FUNC_ml%%": "() { :; }"}
    kept = {"PATH": "/bin", "SLURM_CONF": "/c", "MY_SLURM_THING": "1", **others}
    assert scrubbed(left | kept) == kept | {"PAISLURM_BASH_ENV": "1"}


SCRIPT = """#!/usr/bin/env bash

#SBATCH --job-name=train --nodes=2
#SBATCH -n 6 -t5
# a comment
#SBATCH --signal=B:USR1@120 # another
#SBATCH hetjob
#SBATCH --ntasks-per-node=4 --nodes 3
#SBATCH --no-requeue
echo
#SBATCH hetjob
"""


def test_directives_are_read_component_by_component() -> None:
    first, second = components(SCRIPT)
    assert dict(first.options) == {
        "job-name": "train", "nodes": "2", "ntasks": "6", "time": "5", "signal": "B:USR1@120",
    }  # fmt: skip
    assert (first.nodes, first.tasks, second.nodes, second.tasks) == (2, 6, 3, 12)
    assert "no-requeue" in second.options


def test_a_script_without_directives_has_one_component() -> None:
    [only] = components("#!/bin/sh\ntrue\n")
    assert (only.nodes, only.tasks) == (1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", 300), ("1:30", 90), ("2:00:00", 7200), ("1-0", 86400), ("1-2:30", 95400), ("1-02:30:05", 95405),
        ("UNLIMITED", None), ("infinite", None),
    ],
)  # fmt: skip
def test_time_limits(text: str, expected: int | None) -> None:
    assert seconds(text) == expected


def test_an_invalid_time_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid time limit: soon"):
        seconds("soon")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("localhost", ["localhost"]),
        ("localhost,localhost", ["localhost", "localhost"]),
        ("n[1-3,07],login", ["n1", "n2", "n3", "n07", "login"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("", []),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert hostlist.expand(text) == names


@pytest.mark.parametrize("text", ["n[1-", "n[a-b]", "n]1[", "n[1-2"])
def test_invalid_host_lists_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid"):
        hostlist.expand(text)


def test_the_scontrol_emulator_shows_host_names_and_nodes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scontrol.main(["show", "hostnames", "n[1-2],localhost"]) == 0
    assert capsys.readouterr().out == "n1\nn2\nlocalhost\n"
    monkeypatch.setenv("SLURM_JOB_NODELIST", "localhost,localhost")
    assert scontrol.main(["show", "hostnames"]) == 0
    assert capsys.readouterr().out == "localhost\nlocalhost\n"
    assert scontrol.main(["--oneliner", "show", "node", "localhost"]) == 0
    assert " NodeAddr=127.0.0.1 " in capsys.readouterr().out
    assert scontrol.main(["show", "node", "n7"]) == 1
    assert scontrol.main(["show", "hostnames", "n[1-"]) == 1
    assert scontrol.main(["reboot"]) == 1
    assert "unknown request: reboot" in capsys.readouterr().err


def test_the_local_backend_alone_imports_the_emulator() -> None:
    """It is a set of programs that run beside a script, and no library of the others."""
    root = Path(__file__).parents[3]
    files = [*root.glob("backends/**/*.py"), *root.glob("translator/**/*.py")]
    users = {file.parent.name for file in files if "slurm_emulator" in file.read_text(encoding="utf-8")}
    assert users == {"local"}


def test_backends_are_chosen_by_name(tmp_path: Path) -> None:
    dependencies = BackendDependencies(home=tmp_path, environment=dict)
    assert {name: backend(name, dependencies).name for name in BACKENDS} == {name: name for name in BACKENDS}
    assert set(BACKENDS) == {"slurm", "pyslurm", "local"}
    with pytest.raises(UsageError, match="use one of: auto, local, pyslurm, slurm"):
        backend("pbs", dependencies)

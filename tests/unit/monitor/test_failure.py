"""Which task decided that a job failed."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.exit_codes.advice import advice, lacks_something
from paislurm.translator.exit_codes.table import ExitTable, exit_codes
from paislurm.translator.monitor.facts import View
from paislurm.translator.monitor.first_cause import first_cause
from paislurm.translator.monitor.job_failure import CommandPlace, deciding_task, job_failure, short_cause
from paislurm.translator.state.journal_records import RetryPolicy
from paislurm.translator.state.parsed import CorruptDataError
from paislurm.translator.view.failure import JobFailure, LogStream, cause_text, failure_text

from .jobs import NOW, failed, left, task

FAILED = {"state": "FAILED", "behaviour": "unknown"}


def trigger(index: int) -> dict[str, Any]:
    return {"completion_rule": "C2", "role": "worker", "index": index, "count": 1, "threshold": 1}


EARLY = task(0, exit_status=3, exit_code=255, ended_at=NOW - 20, **FAILED)
LATE = task(1, exit_status=4, exit_code=255, **FAILED)


@pytest.mark.parametrize(
    ("code", "changes", "index"),
    [
        (255, {"trigger": trigger(1)}, 1),
        (255, {"trigger": trigger(0)}, 0),
        (255, {}, 0),  # nothing names it: the first that failed
        (220, {"exit_code": 220}, 0),
        (255, {"trigger": trigger(1), "exit_code": -1001}, 0),  # the result is not what the job ended with
        (255, {"trigger": trigger(7)}, None),
        (-1001, {}, None),  # of a node, not of a task
        (None, {"exit_code": 0}, None),
    ],
)
def test_the_task_that_failed_the_job_is_found(code: int | None, changes: dict[str, Any], index: int | None) -> None:
    found = deciding_task(failed([EARLY, LATE], code, **changes))
    assert (found.index if found else None) == index


def test_a_task_with_the_exit_code_of_the_job_is_preferred() -> None:
    lost = task(1, exit_status=None, exit_code=-1001, **FAILED)
    found = deciding_task(failed([EARLY, lost], -1001))
    assert found is not None
    assert found.index == 1


@pytest.mark.parametrize("state", ["STOPPED", "SUCCEEDED", "RUNNING"])
def test_a_job_that_has_not_failed_has_no_deciding_task(state: str) -> None:
    assert deciding_task(failed([EARLY, LATE], state=state, trigger=trigger(0))) is None


@pytest.mark.parametrize("bad", [1, "worker", [], {"role": 1, "index": 0}, {"role": "worker"}])
def test_a_trigger_of_an_unknown_kind_is_invalid(bad: object) -> None:
    with pytest.raises(CorruptDataError):
        left(trigger=bad)


def failure(seen: View, code: int, **words: Any) -> JobFailure:
    cause = first_cause(seen, deciding_task(seen), lambda _: ())
    return job_failure(seen, code, cause, **({"command": None, "stream": "stderr", "last_lines": ()} | words))


def of(code: int, tasks: list[dict[str, Any]]) -> JobFailure:
    return failure(failed(tasks, code), code)


@pytest.mark.parametrize(
    ("code", "status", "rule", "meaning"),
    [
        (
            255,
            3,
            "no rule of the exit specification matches exit status 3: code 255, PAIRuntimeUnknownFailed",
            "chose",
        ),
        (
            255,
            1,
            "no rule of the exit specification matches exit status 1: code 255, PAIRuntimeUnknownFailed",
            "Python",
        ),
        (139, 139, "exit status 139: code 139, ContainerSigSegvReceived", "SEGV (11)"),
        (
            228,
            1,
            "one of 5 rules, see `paislurm explain 228`: code 228, ContainerIncorrectParameterError",
            "option",
        ),
    ],
)
def test_the_advice_explains_the_failure(code: int, status: int, rule: str, meaning: str) -> None:
    found = of(code, [task(0, exit_status=status, exit_code=code, **FAILED), task(1)])
    assert found.exit_rule == rule
    assert meaning in found.meaning


def test_an_exit_status_is_never_looked_up_as_a_code() -> None:
    """Of 128, 200 or 254 only the program's documentation tells the meaning, whatever OpenPAI's code of the number."""
    for status in range(1, 255):
        said, short = advice(255, status), short_cause(ExitTable(), 255, status)
        if 129 <= status <= 159:
            assert said.meaning.startswith("signal "), status
        elif status not in (1, 2, 124, 126, 127):
            assert said.meaning == "an exit status that the command itself chose", status
            assert (short, lacks_something(255, status, ())) == (f"exit status {status}", False)


def test_too_much_memory_says_what_was_requested_and_what_to_request() -> None:
    seen = failed([task(0, exit_status=137, exit_code=-1200, **FAILED)], -1200)
    assert failure(seen, -1200, memory_mib=2000).remedy.startswith("raise `memoryMB`, now 2000, to 3000 or more, ")
    assert failure(seen, -1200).remedy.startswith("raise `memoryMB`, use ")


@pytest.mark.parametrize(("status", "meaning"), [(124, "`timeout`"), (152, "more CPU time"), (153, "a larger file")])
def test_a_limit_that_ran_out_is_named(status: int, meaning: str) -> None:
    said = advice(255, status)
    assert meaning in said.meaning
    assert "raise the limit" in said.remedy


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ("MemoryError", "could not get the memory"),
        (
            "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 9.3 TiB for an array",
            "could not get the memory",
        ),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "a GPU ran out of memory"),
        ("RuntimeError: cuda runtime error (2) : out of memory at THCStorage.cu:58", "a GPU ran out of memory"),
        ("TypeError: dynamic_rnn() got multiple values for keyword argument 'dtype'", "unknown option or argument"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/x'", "does not exist"),
        ("OSError: [Errno 98] Address already in use", "another process listens on the port"),
        ("ssh: Could not resolve hostname worker-7: Name or service not known", "a host name is unknown"),
        ("curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: refused", "a server could not be reached"),
        ("cp: cannot create regular file '/data/x': Permission denied", "a permission is missing"),
    ],
)
def test_a_corrected_expression_names_the_cause_of_an_unexplained_failure(says: str, cause: str) -> None:
    assert cause in missed(f"Traceback\n{says}\nbye", "task", 1)
    assert cause not in missed(f"Traceback\n{says}\nbye", "task", 137)


def test_ssh_and_srun_exit_with_the_code_of_an_unexplained_failure() -> None:
    assert "a host name is unknown" in missed("ssh: Could not resolve hostname worker-7", "task", 255)


def test_a_program_without_permission_to_run_has_its_own_advice() -> None:
    assert "chmod +x" in missed("bash: ./run.sh: Permission denied", "task", 126)


@pytest.mark.parametrize(("status", "lines", "silent"), [(3, (), 1), (1, ("step 1",), 1), (1, ("error: no",), 0)])
def test_a_command_that_prints_no_reason_is_to_be_run_again_with_its_commands(
    status: int, lines: tuple[str, ...], silent: bool
) -> None:
    found = failure(
        failed([task(0, exit_status=status, exit_code=255, **FAILED)], 255), 255, stream="stdout", last_lines=lines
    )
    assert ("`set -x`" in found.remedy, "last lines name" in found.remedy) == (silent, not silent)


@pytest.mark.parametrize("status", [137, 143])
def test_a_signal_of_unknown_origin_is_not_ours(status: int) -> None:
    found = of(status, [task(0, exit_status=status, exit_code=status, **FAILED)])
    assert re.fullmatch(rf"signal \w+ \(\d+\), which paislurm did not send, exit status {status}", found.what)


@pytest.mark.parametrize("stream", get_args(LogStream))
@pytest.mark.parametrize("others", [0, 3])
def test_the_text_of_any_failure_has_at_most_twenty_lines(stream: LogStream, others: int) -> None:
    """Of all codes, and of all statuses without a code, with the longest log and the most findings of the node."""
    ends = [(code, None) for code in exit_codes() if code] + [(255, status) for status in range(1, 255)]
    place = CommandPlace(file="job.yaml", line=1, last_line=1, text="x" * 99, image_warning="no image")
    for code, status in ends:
        tasks = [task(k, exit_status=status, exit_code=code, evidence=[f"n{j}" for j in range(9)], **FAILED)
                 for k in range(others + 1)] + [task(9, state="STOPPED", exit_code=-220)]  # fmt: skip
        lines = tuple(f"error {number}" for number in range(10))
        for words in ({"command": place}, {"last_lines": lines}, {"command": place, "last_lines": lines}):
            found = failure(failed(tasks, code), code, stream=stream, no_room="full", **words)
            text = f"{cause_text(found)}\n{failure_text(found)}"
            assert text.count("\n") < 20, (code, status)
            assert "last_lines" not in words or "error 9" in text, (code, status)


def test_suggested_commands_contain_the_job_name() -> None:
    found = of(-1200, [task(0, exit_status=137, exit_code=-1200, **FAILED), task(1)])
    assert "`sacct -j 7 " in found.look
    assert found.task is not None


def test_a_failure_before_any_task_is_blamed_on_the_batch_script() -> None:
    stopped = [task(k, state="STOPPED", exit_status=None, exit_code=-220, started_at=None) for k in (0, 1)]
    assert "batch script" in of(255, stopped).meaning
    assert of(255, stopped).task is None


def missed(path_says: str, workdir: str, status: int = 2, code: int = 255, stream: str = "stderr") -> str:
    """Return what is advised where these are the last lines of a command that starts in this folder."""
    place = CommandPlace(file="job.yaml", line=1, last_line=1, workdir=workdir)
    seen = failed([task(0, exit_status=status, exit_code=code, **FAILED), task(1)], code)
    lines = tuple(path_says.split("\n"))
    found = failure(seen, code, command=place, stream=stream, last_lines=lines)
    return f"{found.meaning}; {found.advice}"


PYTHON = "python3: can't open file '/j/x/attempts/0/work/0-main/0/train.py': [Errno 2] No such file or directory"


@pytest.mark.parametrize(
    ("says", "status", "code"),
    [
        (PYTHON, 2, 255),
        ("bash: train.sh: No such file or directory", 127, 255),
        ("/j/commands/0-w.sh: line 2: ./run.sh: No such file or directory", 127, 220),
        ("cat: data.txt: No such file or directory", 1, 255),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'", 1, 229),
        ("ls: cannot access 'a': No such file or directory", 2, 255),
        ("sh: 0: cannot open train.sh: No such file", 2, 255),
        ("make: *** No targets specified and no makefile found.  Stop.", 2, 255),
        ("cc: error: a.c: No such file or directory\ncompilation terminated.\nmake: *** [all] Error 1", 2, 255),
    ],
)
def test_a_missing_file_gets_a_hint_about_the_folder_of_the_task(says: str, status: int, code: int) -> None:
    said = missed(says, "task", status, code)
    assert "commands start in the task's own folder" in said
    assert "extras: {slurm: {workdir: submit}}" in said


@pytest.mark.parametrize(
    ("workdir", "where"), [("submit", "the submit folder"), ("./a", "the submit folder/a"), ("/d", "/d")]
)
def test_the_hint_names_the_configured_start_folder(workdir: str, where: str) -> None:
    said = missed("cat: data.txt: No such file or directory", workdir)
    assert f"commands start in {where};" in said
    assert "workdir: submit" not in said


@pytest.mark.parametrize(
    "says",
    [
        "cat: /data/x: No such file or directory",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'",
    ],
)
def test_a_missing_absolute_path_gets_no_hint_about_the_folder(says: str) -> None:
    assert "workdir" not in missed(says, "task")
    assert "the path in the last lines" in missed(says, "task")


@pytest.mark.parametrize(
    ("says", "status"),
    [
        (
            "x: error while loading: a.so: cannot open shared object file: No such file or directory",
            127,
        ),
        ("/usr/bin/env: 'python': No such file or directory", 127),
        ("bash: ./run.sh: /bin/no: bad interpreter: No such file or directory", 126),
        ("bash: nosuch: command not found", 127),
        ("cat: data.txt: No such file or directory\n" + "more\n" * 5, 1),
        ("cat: data.txt: No such file or directory", 137),
        ("No space left on device", 139),
    ],
)
def test_output_without_a_missing_file_does_not_change_the_advice(says: str, status: int) -> None:
    assert missed(says, "task", status) == missed("", "task", status)


@pytest.mark.parametrize(
    "says",
    [
        "cat: write error: No space left on device",
        "OSError: [Errno 28] No space left on device: 'model.pt'",
        "Traceback\nOSError: [Errno 122] Disk quota exceeded\nand so on",
        "npm ERR! code ENOSPC",
    ],
)
@pytest.mark.parametrize("status", [1, 2, 120])
def test_a_command_on_a_full_disk_gets_matching_advice(says: str, status: int) -> None:
    said = missed(says, "task", status)
    assert "the command wrote to a full file system, or over a quota" in said
    assert "Python exits with it" not in said


@pytest.mark.parametrize("status", [1, 127])
@pytest.mark.parametrize(
    ("says", "meaning"),
    [
        ("/tmp/c: line 3: RANK: unbound variable", "a variable has no value; commands run with `set -u`"),
        ("ncclInternalError: Internal check failed.\nLast error:\nBootstrap : no socket interface found", "interface"),
        ("RuntimeError: [enforce fail at device.cc:84] ifa != nullptr. Unable to find address for: eth0", "interface"),
    ],
)
def test_the_last_lines_name_a_cause_whatever_the_status(says: str, meaning: str, status: int) -> None:
    assert meaning in missed(says, "task", status)
    assert meaning not in missed(says, "task", 137)


def test_a_batch_script_on_a_full_disk_gets_matching_advice() -> None:
    seen = failed([task(0, state="STOPPED", exit_status=None, exit_code=-220, started_at=None), task(1)])
    lines = ("mktemp: failed to create directory: No space left on device", "paislurm: error: cannot make a folder")
    found = job_failure(seen, 255, None, command=None, stream="batch", last_lines=lines, no_room="there is no room")
    assert (found.cause, "full file system" in found.meaning) == ("there is no room", True)


def test_the_batch_script_and_scripts_of_prerequisites_start_elsewhere() -> None:
    says = "cat: data.txt: No such file or directory"
    assert missed(says, "task", stream="runtime") == missed("", "task", stream="runtime")
    assert "workdir: submit" not in missed(says, "")


@given(st.lists(st.text(), max_size=6))
def test_any_output_lines_get_advice(lines: list[str]) -> None:
    assert missed("\n".join(lines), "task")


@pytest.mark.parametrize("says", ["ModuleNotFoundError: No module named 'x'", "ImportError: cannot import name 'x'"])
def test_a_missing_module_is_reported_for_any_exit_specification(says: str) -> None:
    assert "a Python module could not be imported" in missed(f"Traceback\n{says}", "task", 1)
    assert "a Python module could not be imported" not in missed(f"{says}\nmore", "task", 1)
    assert "a Python module could not be imported" not in missed(says, "task", 3)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (0, "not retried, because `jobRetryCount` is 0"),
        (2, "up to `jobRetryCount` times (2)"),
        (-1, "retried without a limit (retry count -1)"),
        (-2, "restarted after any end, up to `retry.maxRestarts`"),
    ],
)
def test_the_retry_rule_contains_the_retry_limit(limit: int, words: str) -> None:
    seen = failed([task(0, exit_status=3, exit_code=255, **FAILED), task(1)])
    seen = replace(seen, history=replace(seen.history, retry_policy=RetryPolicy(retry_limit=limit)))
    assert words in failure(seen, 255).retry_rule

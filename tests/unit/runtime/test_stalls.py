"""The stall guard: what a task, the step on its node and the batch script do. /proc is laid out by the tests."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from ..written_files import write_files, write_programs
from .bash import run

# A task with a FIFO as the batch script would read it. Fakes: the clock, and the reader that looks at files.
WATCH = """
cd "$1"; exec {PSL_REPORT_FD}>&1
PSL_ROLE=0 PSL_SLOT=2 PSL_WATCHED_TASK='2 0' PSL_ONE_LOG=0 PSL_PROGRESS=("10 $2 report 0")
PSL_STDOUT_LOG=$1/out PSL_STDERR_LOG=$1/err NOW=1000000
read_uptime() { PSL_UPTIME=$NOW; }
start_reader() { PSL_READ_AT=$PSL_UPTIME PSL_READER=fake; }
wait() { :; }
at() { while ((NOW < $1 * 1000 + 1000000)); do NOW=$((NOW + 1000)); check_progress; look; done; }
look() { [[ ! $PSL_READER ]] || on_sign $(print_sign); }
say() { printf '%s: ' "$(((NOW - 1000000) / 1000))"; }
report() { :; }
printf 'early\\n' >>err
begin_watch
"""


def watched(folder: Path, code: str, warm_up: int = 0) -> list[str]:
    """Return what a task reports, and the seconds before each mark."""
    return run(WATCH + code, str(folder), str(warm_up)).split("\n")[:-1]


QUIET, MOVED = "quiet 0 2 2 0", "moved 0 2 2 0"
WATCHED = {
    "it is quiet after the window and moves again": (
        """
        (use_watched_logs; echo one)
        at 5; (use_watched_logs; echo two >&2)
        at 15; echo 15; at 17; echo 17
        (use_watched_logs; echo three); at 18
        at 27; echo 27; at 29
        """,
        ["15", QUIET, "17", MOVED, "27", QUIET],
    ),
    # Only the size of the file shows it.
    "a program may open a log by itself": (
        "for n in {1..4}; do echo more >>err; at $((n * 9)); done; echo 36; at 47",
        ["36", QUIET],
    ),
    # Its shell did not run either.
    "a suspended task is not quiet": (
        "at 5; NOW=$((NOW + 3600000)); check_progress; look; echo later; at 3616",
        ["later", QUIET],
    ),
    # The reader gives no answer.
    "a file system that hangs makes it quiet": ("look() { :; }; at 14; echo 14; at 16", ["14", QUIET]),
    # Each look takes longer than the time between two looks; a command may take half a minute.
    "a slow command does not keep it from becoming quiet": (
        """
        PSL_PROGRESS_COMMAND=(slow); print_sign() { printf '1 1'; }; begin_watch
        look() { ((NOW - PSL_READ_AT < 3000)) || on_sign 1 1; }; at 13; echo 13; at 18
        look() { :; }; PSL_IS_QUIET=''; at 19; note_progress; echo hangs; at 50; echo 50; at 60
        """,
        ["13", QUIET, "hangs", "50", QUIET],
    ),
    # A look at a task, each second, starts no process.
    "it takes little of a core": (
        "set -m; trap 'echo forked' CHLD; for n in {1..100}; do check_progress; done; (:); trap - CHLD",
        ["forked"],
    ),
}


@pytest.mark.parametrize(("code", "reported"), WATCHED.values(), ids=WATCHED)
def test_what_a_watched_task_reports(tmp_path: Path, code: str, reported: list[str]) -> None:
    assert watched(tmp_path, code) == reported


def test_the_warm_up_counts_as_progress(tmp_path: Path) -> None:
    code = "(use_watched_logs; echo one); at 29; echo 29; at 31"
    assert watched(tmp_path, code, warm_up=20) == ["29", QUIET]


@pytest.mark.parametrize(
    "sign",
    ["PSL_PROGRESS_FILE=('steps.*')", "PSL_PROGRESS_COMMAND=('cat steps.* 2>/dev/null; echo x')"],
    ids=["file", "command"],
)
def test_files_and_commands_are_signs_of_progress(tmp_path: Path, sign: str) -> None:
    code = f"""
        PSL_EXPORTS='' PSL_NAMES_PEERS=() PSL_LOWERCASE_EXPORTS=() PSL_NOTES_END='' PSL_GANG=1
        {sign}; begin_watch
        at 8; echo 1 >>'steps.a'; at 15; echo 2 >>'steps.b b'; at 24; echo 24; at 28; echo 28; echo 3 >>steps.a; at 30
    """
    assert watched(tmp_path, code) == ["24", "quiet 0 2 2 0", "28", "moved 0 2 2 0"]


def process(folder: Path, number: int, parent: int, state: str, name: str, waits: str, words: str = "x") -> Path:
    """Lay out a process in /proc, and return its folder."""
    place, stat = folder / "proc" / str(number), f"{number} ({name}) {state} {parent} 1 1 0 -1\n"
    thread = {f"task/{number}/stat": stat, f"task/{number}/wchan": waits}
    write_files(place, {"stat": stat, "cmdline": words.replace(" ", "\0") + "\0", "environ": ""} | thread)
    (place / "fd").mkdir()
    return place


FIND = """
PSL_PROC=$1/proc PSL_NODE_FOLDER=$1/node PSL_ATTEMPT_FOLDER=$1 PSL_STALL_PAUSE=0 PSL_ROLE_FOLDER=(0-w) SLURM_NODEID=0
print_stall
"""


def found(folder: Path, code: str = FIND) -> dict[str, str]:
    """Return what the step prints about each task."""
    (folder / "stall").mkdir(exist_ok=True)
    lines = [line.split(" ", 3) for line in run(code, str(folder)).splitlines() if line.startswith("stalled ")]
    return {f"{role}.{index}": rest for _, role, index, rest in lines}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Return a node with two tasks: the shells 100 and 200, whose shells 101 and 201 have a command each."""
    (tmp_path / "node").mkdir()
    for index, shell in enumerate((100, 200)):
        (tmp_path / f"node/0.{index}.0.shell").write_text(f"0 {index} 0 {shell}\n")
        script = "bash -p /home/jobs/a/attempts/0/job.sbatch --task"
        process(tmp_path, shell, 1, "S", "bash", "pipe_read", script)
        process(tmp_path, shell + 1, shell, "S", "bash", "do_wait", script)
        process(tmp_path, shell + 2, shell + 1, "S", "bash", "do_wait", "bash -e -- 0-w.sh")
    process(tmp_path, 1, 0, "S", "init", "0")
    return tmp_path


def test_only_processes_of_users_are_looked_at(node: Path) -> None:
    assert found(node) == {"0.0": "0 0 102 bash:do_wait ", "0.1": "0 0 202 bash:do_wait "}
    details = (node / "stall/0-w.1.txt").read_text()
    assert details.startswith("nothing stands out\n")
    assert "\n  bash, process 202, child of 201: is in a wait for a child process\n" in details
    assert details.endswith("\nconnections:\nnone\n")


@pytest.mark.parametrize(
    ("state", "waits", "rank", "words"),
    [
        ("T", "do_signal_stop", 50, "is stopped by a signal (py, process 203)"),
        ("t", "ptrace_stop", 50, "is stopped by a signal (py, process 203)"),
        ("D", "rpc_wait_bit_killable", 40, "waits for a file system (py, process 203, in rpc_wait_bit_killable)"),
        ("D", "0", 40, "waits for a file system (py, process 203, in 0)"),
        ("S", "request_wait_answer", 40, "waits for a file system (py, process 203, in request_wait_answer)"),
        ("S", "ptlrpc_set_wait", 40, "waits for a file system (py, process 203, in ptlrpc_set_wait)"),
        ("S", "anon_pipe_write", 30, "writes to a full pipe (py, process 203; no other process has its end)"),
        ("S", "futex_wait_queue", 0, ""),
        ("S", "pipe_read", 0, ""),
        ("R", "0", 0, ""),
    ],
)
def test_what_a_process_waits_for(node: Path, state: str, waits: str, rank: int, words: str) -> None:
    process(node, 203, 202, state, "py", waits)
    said = found(node)
    assert said["0.0"].split()[1] == "0"
    assert said["0.1"].split()[1] == str(rank)
    assert said["0.1"].split(" ", 4)[4] == words


def test_a_thread_is_found_too(node: Path) -> None:
    place = process(node, 203, 202, "S", "py", "futex_wait_queue")
    call = "0 0x5 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"
    thread = {"stat": "209 (pool) 1) D 202 1\n", "wchan": "rpc_wait_bit_killable", "syscall": call}
    write_files(place / "task/209", thread)
    (place / "fd/5").symlink_to("/data/set 1\n")
    assert "waits for a file system (py, process 203, in rpc_wait_bit_killable on /data/set 1" in found(node)["0.1"]


def test_a_wait_that_ends_is_no_evidence(node: Path) -> None:
    """The three looks differ."""
    process(node, 203, 202, "D", "py", "rpc_wait_bit_killable")
    code = f"sleep() {{ echo futex >{node}/proc/203/task/203/wchan; }}\n{FIND}"
    assert found(node, code)["0.1"].split()[1] == "0"


def test_the_reader_of_a_full_pipe_is_named(node: Path) -> None:
    writer = process(node, 203, 202, "S", "py", "pipe_write")
    (writer / "task/203/syscall").write_text("1 0x7 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n")
    (writer / "fd/7").symlink_to("pipe:[55]")
    reader = process(node, 204, 203, "S", "sleep", "hrtimer_nanosleep")
    (reader / "fd/0").symlink_to("pipe:[55]")
    # Links of a real /proc have the modes of their descriptors, which no test can lay out.
    code = f"""
        stat() {{ printf "lr-x------ '%s' -> 'pipe:[55]'\\n" "$PSL_PROC/204/fd/0"; }}
        command() {{ [[ $1 != -p ]] || shift; "$@"; }}
        {FIND}"""
    assert "writes to a full pipe (py, process 203; not read by sleep, process 204)" in found(node, code)["0.1"]


CONNECTION = "   0: {} {} {} 00000000:{:08X} 00:00000000 00000000  1000        0 {} 1 x\n"


def connections(node: Path, *lines: str) -> None:
    for number in (102, 202, 203):
        if (node / f"proc/{number}").exists():
            (node / f"proc/{number}/net").mkdir()
            (node / f"proc/{number}/net/tcp").write_text("  sl  local_address rem_address   st\n" + "".join(lines))


@pytest.mark.parametrize(("waits", "rank"), [("futex_wait_queue", 20), ("sk_wait_data", 0), ("do_poll", 0)])
def test_a_task_that_does_not_read_is_found(node: Path, waits: str, rank: int) -> None:
    """But one that waits for data may wait for other data."""
    place = process(node, 203, 202, "S", "py", waits)
    (place / "fd/9").symlink_to("socket:[77]")
    connections(node, CONNECTION.format("0100007F:1111", "0200007F:2222", "01", 300, 77))
    said = found(node)["0.1"].split(" ", 4)
    assert said[1] == str(rank)
    assert said[4] == ("has not read 300 bytes that others have sent" if rank else "")
    details = (node / "stall/0-w.1.txt").read_text().partition("connections:\n")[2]
    assert details == "127.0.0.1:4369 connected to 127.0.0.2:8738, bytes to send: 0, to read: 300\n"


@pytest.mark.parametrize(
    ("hexadecimal", "address"),
    [
        ("0100007F:1F90", "127.0.0.1:8080"),
        ("0000000000000000FFFF00000100000A:0050", "10.0.0.1:80"),
        ("000080FE00000000FF005450B6AD1DFE:0001", "[fe80:0000:0000:0000:5054:00ff:fe1d:adb6]:1"),
    ],
)
def test_addresses_are_in_words(hexadecimal: str, address: str) -> None:
    assert run('name_address "$1" place; echo "$place"', hexadecimal) == f"{address}\n"


def test_nccl_is_asked_and_names_the_processes_behind(node: Path) -> None:
    """A stand-in answers as RAS does, by NVIDIA's user guide."""
    answer = (
        "#0-0 (27a0) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
        "  26 ranks have launched up to operation 6650\n"
        "  2 ranks have launched up to operation 6649\n"
        "  Rank 0 -- GPU 0 managed by process 102 on node 172.16.64.210\n"
        "  Rank 2 has launched up to operation 6651 -- GPU 2 managed by process 104 on node 172.16.64.210\n"
        "  Rank 3 has launched up to operation 60 -- GPU 3 managed by process 203 on node 172.16.64.210\n"
    )
    server = socket.create_server(("127.0.0.1", 0))
    heard = []

    def serve() -> None:
        peer, _ = server.accept()
        heard.append(peer.recv(100))
        peer.sendall(answer.encode())
        peer.close()

    thread = threading.Thread(target=serve)
    thread.start()
    port = server.getsockname()[1]
    place = process(node, 203, 202, "S", "py", "futex_wait_queue")
    (place / "environ").write_text(f"A=b\0NCCL_RAS_ADDR=127.0.0.1:{port}\0")
    (place / "fd/3").symlink_to("socket:[88]")
    connections(node, CONNECTION.format(f"0100007F:{port:04X}", "00000000:0000", "0A", 0, 88))
    (node / "stall").mkdir()
    said = run(FIND, str(node)).splitlines()
    thread.join()
    server.close()
    assert heard == [b"verbose status\n"]
    assert [line for line in said if line.startswith("behind")] == ["behind 102", "behind 203"]
    assert (node / "stall/nccl.txt").read_text() == answer


def test_py_spy_of_the_task_names_the_function(node: Path) -> None:
    said = (
        "#!/bin/sh\ncat <<'END'\nProcess 203: python3 train.py\n\nThread 9 (idle): \"pool\"\n    work (a.py:1)\n"
        'Thread 203 (idle): "MainThread"\n    barrier (torch/distributed/c.py:5356)\n    main (train.py:8)\nEND\n'
    )
    write_programs(node / "bin", {"py-spy": said})
    place = process(node, 203, 202, "S", "python3", "futex_wait_queue")
    (place / "environ").write_text(f"PATH={node}/bin\0")
    sign = found(node)["0.1"].split()[3]
    assert sign == "bash:do_wait,python3:barrier@torch/distributed/c.py:5356,python3:futex_wait_queue"
    assert "main (train.py:8)" in (node / "stall/0-w.1.txt").read_text()


IN_MPI = (
    "TID 203:\n#0  0x00007f2583b9b017 __sched_yield\n#1  0x00007f2583d3de33 MPIR_Wait\n#2  0x0000562 PMPI_Allreduce\n"
    "#3  0x0000562 MPI_File_write_all\n#4  0x00005621bbd1123c "
)
LIBRARY = "/usr/lib/libmpi.so.40.30.4"


@pytest.mark.parametrize(
    ("state", "mapped", "container", "stack", "sign"),
    [
        (
            "R", LIBRARY, False, f"{IN_MPI}main\n",
            "MPI_File_write_all@libmpi.so.40.30.4,ranks:running+libmpi.so.40.30.4",
        ),
        (
            "R", LIBRARY, False, "#0  0x562 f\n#1  0x7f25 __libc_start_main@@GLIBC_2.34\n",
            "code_outside_MPI@libmpi.so.40.30.4,ranks:running+libmpi.so.40.30.4",
        ),
        ("R", LIBRARY, False, f"{IN_MPI}mainly\n", "running+libmpi.so.40.30.4"),
        ("R", "/opt/cray/libmpi_cray.so.12", False, "", "running+libmpi_cray.so.12"),
        ("R", LIBRARY, True, f"{IN_MPI}main\n", "running+libmpi.so.40.30.4"),
        ("R", "/usr/lib/libm.so.6", False, f"{IN_MPI}main\n", "running"),
        ("S", LIBRARY, False, f"{IN_MPI}main\n", "do_poll"),
    ],
    ids=["in-mpi", "outside", "part-of-a-stack", "no-stack", "container", "no-mpi", "not-running"],
)  # fmt: skip
def test_a_program_that_computes_may_wait_in_mpi(
    node: Path, state: str, mapped: str, container: bool, stack: str, sign: str
) -> None:
    """The outermost function of MPI is the one that the program has called. Of some of a task's ranks none counts."""
    said = f"#!/bin/sh\necho \"$@\" >>{node}/asked\n[ $3 != 204 ] || exit\ncat <<'END'\n{stack}END\n"
    write_programs(node / "bin", {"eu-stack": said})

    def rank(number: int) -> None:
        place = process(node, number, 202, state, "ranks", "0" if state == "R" else "do_poll")
        (place / "environ").write_text(f"PATH={node}/bin\0")
        (place / "maps").write_text(f"7f1-7f2 r--p 0000 08:01 7 /usr/libc.so.6\n7f2-7f3 r-xp 0000 08:01 9   {mapped}\n")
        (place / "ns").mkdir()
        (place / "ns/mnt").symlink_to(node / "node")

    rank(203)
    (node / "proc/self/ns").mkdir(parents=True)
    (node / "proc/self/ns/mnt").symlink_to(node if container else node / "node")
    code = f"SECONDS=0\n{FIND}"
    assert found(node, code)["0.1"].split()[3] == f"bash:do_wait,ranks:{sign}"
    is_asked = state == "R" and "libmpi" in mapped and not container
    assert (node / "asked").exists() == is_asked
    assert ("MPIR_Wait" in (node / "stall/0-w.1.txt").read_text()) == (is_asked and "MPIR_Wait" in stack)
    rank(204)
    assert "@" not in found(node, code)["0.1"].split()[3] or not is_asked


def test_another_users_node_folder_is_not_read(node: Path) -> None:
    (node / "link").symlink_to(node / "node")
    assert found(node, FIND.replace("$1/node ", "$1/link ")) == {}


# Fakes: the clock, and the steps; what tasks and steps say is given as events.
DECIDE = """
cd "$1"; PSL_GANG=1 PSL_NOW=1000 PSL_EVERY_COMPONENT=(0) PSL_SUPERVISING=0
PSL_TASK_COUNT=4 PSL_ROLE_NAME=(w s) PSL_INSTANCES=(3 1) PSL_PROGRESS=([0]='60 0 report 0' [1]='60 0 report 0')
read_clock() { :; }
log() { printf '%s: %s\\n' "$PSL_NOW" "$*"; }
ask_about_stall() { PSL_STALL_GROUP=$1 PSL_STALL_DEADLINE=$((PSL_NOW + 8)) PSL_STALL_OPEN=1; log "asks about $1"; }
at() { PSL_NOW=$1; dispatch_lines "${@:2}"; check_stalls; }
begin() {
  at 1000 'start 0 0 0 0 n1 1 1' 'start 0 1 1 0 n1 1 1' 'start 0 2 2 0 n2 1 1' 'start 1 0 0 0 n2 1 1'
}
quiet() { at "$1" 'quiet 0 0 0 0' 'quiet 0 1 1 0' 'quiet 0 2 2 0' 'quiet 1 0 0 0'; }
"""
NOTHING = "nothing tells which of the 4 tasks the others wait for"


def decided(folder: Path, code: str) -> list[str]:
    return run(DECIDE + code, str(folder)).splitlines()


def answers(*lines: str) -> str:
    """Return bash by which the nodes answer about a stall at 1062."""
    words = " ".join(f"'stalled {line}'" for line in lines)
    return f"begin; quiet 1061; at 1062 {words} 'asked 0'"


ASLEEP = "w-2 is in a sleep, and the others in a wait for a lock or another thread; 3 others wait"
SAME = ("0 0 0 0 5 a:futex ", "0 1 0 0 6 a:futex ", "0 2 0 0 7 a:futex ", "1 0 0 0 8 s:poll ")


@pytest.mark.parametrize(
    ("changed", "tasks", "words"),
    [
        ({}, [], NOTHING),
        ({1: "0 1 0 50 6 a:stop is stopped"}, ["w-1"], "w-1 is stopped; 3 others wait"),
        ({1: "0 1 0 20 6 a:futex reads not", 3: "1 0 0 30 8 s:pipe pipes"}, ["s-0"], "s-0 pipes; 3 others wait"),
        (
            {index: f"{line[:5]} 40 {line[8:]}hangs" for index, line in enumerate(SAME)},
            ["w-0", "w-1", "w-2", "s-0"],
            "w-0 hangs, w-1 hangs, w-2 hangs; as do 1 more",
        ),
        ({2: "0 2 0 0 7 a:nanosleep "}, ["w-2"], ASLEEP),
        ({2: "0 2 0 0 7 a:nanosleep,b:x "}, ["w-2"], ASLEEP),
        ({2: "0 2 0 0 7 a:futex,b:x "}, [], NOTHING),
        ({1: "0 1 0 0 6 a:poll ", 2: "0 2 0 0 7 a:nanosleep "}, [], NOTHING),
        (
            {0: "0 0 0 0 5 a:f@c:1,a:x ", 1: "0 1 0 0 6 a:f@c:1,a:x ", 2: "0 2 0 0 7 a:g@c:2,a:y "},
            ["w-2"],
            "w-2 is in g@c:2, and the others in f@c:1; 3 others wait",
        ),
        (
            {0: "0 0 0 0 5 a:F@libmpi,a:running+libmpi ", 1: "0 1 0 0 6 a:F@libmpi,a:running+libmpi ",
             2: "0 2 0 0 7 a:nanosleep "},
            ["w-2"],
            "w-2 is in a sleep, and the others in F@libmpi; 3 others wait",
        ),
        (
            {0: "0 0 0 0 5 a:running+m.so ", 1: "0 1 0 0 6 a:running+m.so ", 2: "0 2 0 0 7 a:nanosleep "},
            ["w-2"],
            "w-2 is in a sleep, and the others in code that computes or waits in m.so; 3 others wait",
        ),
        (
            {0: "0 0 0 0 5 a:F@libmpi,a:running+libmpi ", 1: "0 1 0 0 6 a:F@libmpi,a:running+libmpi ",
             2: "0 2 0 0 7 a:G@libmpi,a:running+libmpi "},
            ["w-2"],
            "w-2 is in G@libmpi, and the others in F@libmpi; 3 others wait",
        ),
        (
            {0: "0 0 0 0 5 a:F@libmpi,a:running+libmpi ", 1: "0 1 0 0 6 a:F@libmpi,a:running+libmpi ",
             2: "0 2 0 0 7 a:running+libmpi "},
            [],
            NOTHING,
        ),
        (
            {n: f"{line[:10]}a:F@m.so,a:futex,a:G@m.so,a:G@m.so*2,c++:running+m.so " for n, line in enumerate(SAME)},
            [],
            f"{NOTHING}; each has processes in F@m.so, G@m.so",
        ),
        (
            {n: f"{line[:10]}a:futex,c++:running+m.so " for n, line in enumerate(SAME)},
            [],
            f"{NOTHING}; each has processes in code that computes or waits in m.so",
        ),
    ],
)  # fmt: skip
def test_the_strongest_evidence_names_a_task(
    tmp_path: Path, changed: dict[int, str], tasks: list[str], words: str
) -> None:
    lines = [changed.get(index, line) for index, line in enumerate(SAME)]
    said = decided(tmp_path, answers(*lines))
    assert said == ["1061: asks about 0", f"1062: stalled: no task has moved for 1 min: {words}"]
    written = json.loads((tmp_path / "stall.json").read_text())
    assert written == {
        "version": 1, "found_at": 1062, "moved_at": None, "tasks": tasks,
        "reason": f"no task has moved for 1 min: {words}",
    }  # fmt: skip


STALLED = "stalled: no task has moved for 1 min: "
ASKED = "1061: asks about 0"
OTHERS = " ".join(f"'stalled {line}'" for line in SAME[:3])
ENDS = "1062: interrupted: the job was told to end from outside: see Slurm's accounting for the reason"
OF_W = "no task of role w has moved for 1 min: "
DECIDED = {
    "one task that moves is enough": ("begin; at 1061 'quiet 0 0 0 0' 'quiet 0 1 1 0' 'quiet 0 2 2 0'; at 2000", []),
    "the task that NCCL misses is named": (
        answers(*SAME).replace("'asked 0'", "'behind 7' 'behind 99' 'asked 0'"),
        [
            ASKED,
            f"1062: {STALLED}w-2 has launched fewer operations of NCCL than the others (process 7); 3 others wait",
        ],
    ),
    # Its tasks are, if other nodes answer, and at the latest after 8 s.
    "a node that does not answer is named": (
        f"begin; quiet 1061; at 1062 {OTHERS}; at 1068; at 1069",
        [ASKED, f"1069: {STALLED}s-0 is on n2, which does not answer; 3 others wait"],
    ),
    "if few nodes answer none is named": (
        f"begin; quiet 1061; at 1062 'stalled {SAME[0]}'; at 1069",
        [ASKED, f"1069: {STALLED}{NOTHING}"],
    ),
    # But the others may have waited for one until then.
    "ended tasks do not count": (
        """begin; at 1061 'quiet 0 0 0 0' 'quiet 0 1 1 0' 'quiet 0 2 2 0'
        at 1100 'exit 1 0 0 0 0 0 success 1 0'; at 1101; at 1159; at 1160; at 1161 'asked 0'""",
        ["1160: asks about 0", f"1161: {STALLED}{NOTHING.replace('4', '3')}"],
    ),
    "a stall is reported once until a task moves": (
        """begin; quiet 1061; at 1062 'asked 0'; at 1300 'quiet 0 0 0 0'
        at 1400 'moved 0 1 1 0'; cat stall.json; at 1500 'quiet 0 1 1 0'""",
        [
            ASKED,
            f"1062: {STALLED}{NOTHING}",
            "1400: task w-1 moves again",
            f'{{"version": 1, "found_at": 1062, "moved_at": 1400, "tasks": [], "reason": "{STALLED[9:]}{NOTHING}"}}',
            "1500: asks about 0",
        ],
    ),
    # Tasks that got TERM print, and end: after a time limit or a cancel they have not moved.
    "a job ends with its stall": (
        """finish() { :; }; begin; quiet 1061; at 1062 'asked 0'; on_signal TERM; at 1063 'moved 0 1 1 0'
        at 1064 'exit 1 0 0 0 143 0 transient 1064 0'; grep -o 'moved_at.: [a-z0-9]*' stall.json""",
        [ASKED, f"1062: {STALLED}{NOTHING}", ENDS, 'moved_at": null'],
    ),
    "the end of a task ends a stall": (
        """begin; quiet 1061; at 1062 'asked 0'; at 1100 'exit 1 0 0 0 0 0 success 1 0'
        grep -o 'moved_at.: [0-9]*' stall.json; at 1159; at 1160""",
        [ASKED, f"1062: {STALLED}{NOTHING}", 'moved_at": 1100', "1160: asks about 0"],
    ),
    "a task that moves while nodes are asked ends the question": (
        "begin; quiet 1061; at 1062 'moved 0 1 1 0'; at 1070; [[ ! -e stall.json ]] || cat stall.json",
        [ASKED, "1062: task w-1 moves again"],
    ),
    "the stall of one group does not end with that of another": (
        """PSL_PROGRESS=([0]='60 0 report 0' [1]='60 0 report 1')
        begin; quiet 1061; at 1062 'asked 0'; at 1063; at 1064 'asked 0'; at 1065 'moved 0 1 1 0'
        grep -o 'moved_at.: [a-z0-9]*' stall.json; at 1066 'moved 1 0 0 0'
        grep -o 'moved_at.: [a-z0-9]*' stall.json""",
        [
            ASKED,
            f"1062: stalled: {OF_W}{NOTHING.replace('4', '3')}",
            "1063: asks about 1",
            "1064: stalled: no task of role s has moved for 1 min: only s-0 runs",
            "1065: task w-1 moves again",
            'moved_at": null',
            "1066: task s-0 moves again",
            'moved_at": 1066',
        ],
    ),
    "a restart in the job ends a stall": (
        """begin; quiet 1061; at 1062 'asked 0'; PSL_OUTCOME=restarting
        at 1064 'exit 1 0 0 0 143 0 transient 1064 0'; grep -o 'moved_at.: [a-z0-9]*' stall.json""",
        [ASKED, f"1062: {STALLED}{NOTHING}", 'moved_at": 1064'],
    ),
    "roles with their own guard are groups of their own": (
        """PSL_PROGRESS=([0]='60 0 end 0' [1]='7200 0 report 1')
        begin; at 1061 'quiet 0 0 0 0' 'quiet 0 1 1 0' 'quiet 0 2 2 0'
        at 1062 'stalled 0 0 0 50 5 a:x is stopped' 'stalled 0 1 0 0 6 a:x ' 'stalled 0 2 0 0 6 a:x ' 'asked 0'
        echo "$PSL_OUTCOME $PSL_OUTCOME_CODE $PSL_OUTCOME_BEHAVIOUR\"""",
        [
            ASKED,
            f"1062: stalled: {OF_W}w-0 is stopped; 2 others wait",
            f"1062: failed (code -1407): {OF_W}w-0 is stopped; 2 others wait",
            "failed -1407 transient",
        ],
    ),
    "two groups are asked about one after the other": (
        """PSL_PROGRESS=([0]='60 0 report 0' [1]='60 0 report 1')
        begin; quiet 1061; at 1062 'asked 0'; at 1063; at 1064 'asked 0'""",
        [
            ASKED,
            f"1062: stalled: {OF_W}{NOTHING.replace('4', '3')}",
            "1063: asks about 1",
            "1064: stalled: no task of role s has moved for 1 min: only s-0 runs",
        ],
    ),
}


@pytest.mark.parametrize(("code", "said"), DECIDED.values(), ids=DECIDED)
def test_what_is_decided_about_a_stall(tmp_path: Path, code: str, said: list[str]) -> None:
    assert decided(tmp_path, code) == said


def test_pytorch_is_asked_for_its_flight_record(node: Path) -> None:
    place = process(node, 203, 202, "S", "python3", "futex_wait_queue")
    (place / "environ").write_text(f"TORCH_NCCL_DEBUG_INFO_PIPE_FILE={node}/record\0RANK=7\0")
    os.mkfifo(node / "record7.pipe")
    reader = os.open(node / "record7.pipe", os.O_RDONLY | os.O_NONBLOCK)
    found(node)
    assert os.read(reader, 10) == b"1\n"
    os.close(reader)

"""The preflight: what a node answers, which pairs meet, and which nodes are bad."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..written_files import write_files, write_programs
from .bash import lines_of as bash
from .bash import run

Pair = tuple[str, str, str, str]
"""Two nodes, the number that rank 0 printed or `-`, and why the pair failed or ""."""
ROUNDS = """
count_rounds $1; for ((round = 0; round < PSL_ROUNDS; round++)); do for ((place = 0; place < $1; place++)); do
  if find_partner $place $1 $round; then printf '%d %d %d %d\\n' $round $place $PSL_PARTNER $PSL_PAIR_RANK; fi
done; done
"""
JUDGE = """
die() { printf 'dies %s\\n' "$1" && exit; }
log() { [[ $1 != warning* ]] || printf '%s\\n' "$*"; }
while IFS= read -r pair; do PSL_PAIRS+=("$pair"); done <<<"$1"
judge_pairs
report_bad_pairs
for node in "${!PSL_BAD_NODES[@]}"; do printf 'bad %s %s\\n' "$node" "${PSL_BAD_NODES[$node]}"; done
"""


def rounds(count: int) -> list[list[tuple[int, int]]]:
    """Return the pairs of each round of so many nodes, rank 0 first."""
    found: dict[int, list[tuple[int, int]]] = {}
    partners: dict[tuple[int, int], tuple[int, int]] = {}
    for line in run(ROUNDS, str(count)).splitlines():
        number, place, partner, rank = map(int, line.split())
        partners[number, place] = partner, rank
        found.setdefault(number, [])
        if rank == 0:
            found[number].append((place, partner))
    assert all(partners[number, partner] == (place, 1 - rank) for (number, place), (partner, rank) in partners.items())
    return list(found.values())


@pytest.mark.parametrize("count", [*range(1, 18), 31, 32, 64])
def test_each_node_meets_several_others(count: int) -> None:
    found = rounds(count)
    all_meet = count - 1 + count % 2 if count > 1 else 0
    assert len(found) == min(max(3, math.ceil(math.log2(count))), all_meet)
    for pairs in found:
        assert len(set(chain(*pairs))) == 2 * len(pairs) == count - count % 2
    met = Counter(frozenset(pair) for pair in chain(*found))
    assert set(met.values()) <= {1}, "the same two nodes meet twice"
    if count > 3:
        assert {place for pairs in found for place, _ in pairs} == set(range(count)), "a node is never rank 0"


def judged(pairs: list[Pair]) -> list[str]:
    return run(JUDGE, "\n".join(" ".join(pair).rstrip() for pair in pairs)).splitlines()


def table(*rows: str) -> list[Pair]:
    """Return pairs from rows such as `a b 10` or `a b - it failed`."""
    split = (row.split(maxsplit=3) for row in rows)
    return [(a, b, number, fault[0] if fault else "") for a, b, number, *fault in split]


ALL_OF_B = "bad b all of its pairs are bad: "
JUDGED = {
    "alike": (table("a b 10", "c d 9.5", "a c 11", "b d 10"), []),
    "slow": (
        table("a b 1.5", "c d 9.5", "b c 1", "a d 10", "a c 11", "b d 2"),
        [f"{ALL_OF_B}1 with c, 1.5 with a, 2 with d (the median of the nodes is 11.000)"],
    ),
    "fails": (table("a b - status 3 on b: no", "b c - status 3 on b: no", "a c 10"), [
        f"{ALL_OF_B}status 3 on b: no with c, status 3 on b: no with a (the median of the nodes is 10.000)"
    ]),
    "two": (table("a b - exit"), [
        "dies the preflight cannot tell which node of a pair is bad, and excludes none: nodes a and b: exit"
    ]),
    "two slow": (table("a b 0.001"), []),
    "one link": (
        table("a b - exit", "c d 10", "a c 10", "b d 10"),
        ["warning: nodes a and b: exit (the median of the nodes is 10.000); both have good pairs"],
    ),
    "without numbers": (table("a b -", "c d -", "a c -", "b d -"), []),
    "all fail": (table("a b - x", "c d - x", "a c - x", "b d - x"), ["dies"]),
    "leading zeros": (table("a b 010.0", "c d 09", "a c 08", "b d 10"), []),
    "large": (table("a b 999999999999999", "c d 999999999999999.999", "a c 1", "b d 999999999999999"), ["warning"]),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_judge_of_pairs(name: str) -> None:
    pairs, expected = JUDGED[name]
    found = judged(pairs)
    assert len(found) == len(expected)
    for line, words in zip(found, expected, strict=True):
        head, _, rest = line.partition(": ")
        # Bash keeps no order of the pairs in one reason.
        assert sorted(rest.replace(" (", ", (").split(", ")) == sorted(
            words.partition(": ")[2].replace(" (", ", (").split(", ")
        ) or line.startswith(words), line
        assert words.startswith(head.split()[0])


LAST_ROUND = """
log() { :; }
PSL_NODES_OF=('n0 n1 n2 n3') PSL_PREFLIGHT=('pairs:0') PSL_SCRATCH=$PWD
end_by_bad_nodes() { :; }
number() { case $1:$2 in *n2*:[0-2]) echo 1 ;; *n2*) echo "$LAST" ;; *) echo 10 ;; esac; }
mkdir -p commands
ask_for_preflight() {
  local a b
  while read -r a b; do
    PSL_TRIED[$a]="0 $(number "$a$b" "${1##*.}")" PSL_TRIED[$b]='0 -'
  done <"commands/pairs-${1#pairs.}"
}
check_pairs
printf '%s\\n' "${!PSL_BAD_NODES[@]}"
"""


@pytest.mark.parametrize(("last", "bad"), [("1", "n2"), ("9", "")])
def test_a_node_that_seems_bad_is_tried_once_more(tmp_path: Path, last: str, bad: str) -> None:
    assert bash(f"LAST={last}\n{LAST_ROUND}", cwd=tmp_path) == [bad]


@st.composite
def measured(draw: st.DrawFn, *, slow: bool) -> tuple[str, list[Pair]]:
    """Return the pairs of 3 to 12 nodes whose numbers differ by a third at most, of one node a quarter of them."""
    count = draw(st.integers(3, 12))
    bad = draw(st.integers(0, count - 1)) if slow else -1
    pairs: list[Pair] = []
    for a, b in chain(*rounds(count)):
        number = draw(st.integers(7500, 10000)) // (4 if bad in (a, b) else 1)
        pairs.append((f"n{a}", f"n{b}", f"{number / 100:.2f}", ""))
    return f"n{bad}", pairs


@settings(max_examples=25)
@given(measured(slow=True))
def test_one_slow_node_is_named(case: tuple[str, list[Pair]]) -> None:
    node, pairs = case
    assert [line.split()[:2] for line in judged(pairs)] == [["bad", node]]


@settings(max_examples=25)
@given(measured(slow=False))
def test_no_node_is_named_if_all_are_alike(case: tuple[str, list[Pair]]) -> None:
    assert judged(case[1]) == []


CALL = """
PSL_NODES_OF=(n1) PSL_PREFLIGHT=("$2") PSL_PREFLIGHT_SECONDS=1 PSL_SUBMIT_DIR=. PSL_JOB_ID=7 PSL_GPU_VENDOR=nvidia
PSL_ATTEMPT_FOLDER=$PWD TMPDIR=$PWD
open_attempt() { :; }
preflight_main "--preflight-$1" 2>&1
"""


def answer(call: str, words: str, folder: Path, *, path: str = "/usr/bin:/bin", before: str = "") -> list[str]:
    """Return the lines that a node prints."""
    return bash(before + CALL, call, words, cwd=folder, path=path)


def test_clock_and_disk(tmp_path: Path) -> None:
    lines = answer("checks", "disk clock command:0", tmp_path)
    assert [line.split()[:2] for line in lines] == [["n1", "clock"], ["n1", "end"]]
    assert not list(tmp_path.iterdir()), "a file is left"


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    said = bash(f"PSL_NODE_FOLDER=/tmp/x; check_folders {tmp_path}/none /dev/full", cwd=tmp_path)
    assert said == [
        f"n1 problem cannot write 4 MiB to {tmp_path}/none: No such file or directory",
        "n1 problem cannot write 4 MiB to /dev/full: Not a directory",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo 3; echo 12.5; echo done", ["n1 tried 0 12.5 done"]),
        ("echo 0x10; printf 'caf\\001\\tx\\n\\n'; exit 3", ["n1 tried 3 - caf??x", "n1: 0x10"]),
        ("true", ["n1 tried 0 - "]),
        ("sleep 60", ["n1 tried 124 - it did not end in 1 s"]),
        ("read -r line || echo no input", ["n1 tried 0 - no input"]),
    ],
)
def test_commands_are_tried(tmp_path: Path, text: str, expected: list[str]) -> None:
    write_files(tmp_path, {"commands/preflight-command-0.sh": text})
    lines = answer("command", "disk command:0", tmp_path)
    assert [line for line in lines if line.startswith("n1 tried")] == expected[:1]
    assert set(expected) <= set(lines)
    assert lines[-1] == "n1 end"


SEES_TWO = 'for ((n = 0; n < 2; n++)); do echo "GPU $n: Tesla V100 (UUID: GPU-$n)"; done'
GPUS = {
    "good": (SEES_TWO, []),
    "fewer": ("echo 'GPU 0: Tesla V100 (UUID: GPU-0)'", ["nvidia-smi sees 1 GPUs, and Slurm gave 2"]),
    "fails": ("echo 'Unable to determine the device handle: GPU is lost' >&2; exit 15", [
        "nvidia-smi fails: Unable to determine the device handle: GPU is lost"
    ]),
    "memory": (SEES_TWO + "; printf 'Volatile\n SRAM Uncorrectable : 2\nAggregate\n'", [
        "a GPU has an uncorrectable memory error (ECC)"
    ]),
    "hot": (SEES_TWO + "; echo '    HW Thermal Slowdown                : Active'", [
        "a GPU is slowed by heat or its power supply"
    ]),
    "as usual": (SEES_TWO + "; echo '    HW Power Brake Slowdown            : Not Active'", []),
}  # fmt: skip
"""What a fake nvidia-smi prints for every call, and the problems."""


@pytest.mark.parametrize("name", GPUS)
def test_gpus(tmp_path: Path, name: str) -> None:
    text, problems = GPUS[name]
    dmesg = (
        "#!/bin/bash\nread -r up _ </proc/uptime\n"
        'echo "[ ${up%.*}.1] NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=python, MMU Fault"\n'
    )
    write_programs(tmp_path, {"nvidia-smi": f"#!/bin/bash\n{text}\n", "dmesg": dmesg})
    lines = answer("checks", "gpu", tmp_path, path=f"{tmp_path}:/usr/bin:/bin", before="CUDA_VISIBLE_DEVICES=0,1\n")
    assert lines == [*(f"n1 problem {problem}" for problem in problems), "n1 end"]


def test_fault_of_a_gpu_in_the_messages_of_the_kernel(tmp_path: Path) -> None:
    """Old faults and errors of programs do not count."""
    dmesg = (
        "#!/bin/bash\nread -r up _ </proc/uptime; up=${up%.*}\n"
        "printf '[%d.5] NVRM: Xid (PCI:0000:3b:00): %s\n' $((up - 9)) '79, pid=1, GPU has fallen off the bus.' "
        "$((up - 3)) '13, Graphics Exception'\n"
    )
    write_programs(tmp_path, {"dmesg": dmesg})
    found = bash("print_gpu_faults; PSL_FAULT=1", cwd=tmp_path, path=f"{tmp_path}:/usr/bin:/bin")
    assert found == ["n1 problem kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."]


BATCH = """
log() { [[ $1 == error:* ]] && printf '%s\\n' "$*"; }
decide() { printf 'decide %s\\n' "$*"; PSL_OUTCOME=$1 PSL_OUTCOME_REASON=$4; }
die() { printf 'die %s\\n' "$*"; exit; }
PSL_ROLE_NAME=(w) PSL_INSTANCES=(4) PSL_NODES_OF=('n1 n2 n3 n4') PSL_PREFLIGHT=('disk clock command:0')
PSL_LAYOUT=plain PSL_EVERY_COMPONENT=(0) PSL_SCRATCH=$PWD PSL_PREFLIGHT_SECONDS=60
mkdir -p srun
ask_nodes() { cp answers "preflight-checks.$2"; }
ask_for_preflight checks '@(gpu|disk|clock)'
end_by_bad_nodes
printf '%s:%s ' "${!PSL_STATE[@]}" "${PSL_STATE[@]}"
"""


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["n1", "n2", "n3", "n4"], " "),
        (["n1", "n2 slow", "n3", "n4"], "decide failed -1408 transient the preflight found bad nodes: node n2: slow"),
        (["n1", "n2", "n4"], "node n3: it did not answer in 90 s"),
        (["n1 x", "n2 x", "n3", "n4"], "-1408 transient"),
        (
            ["n1 x", "n2 x", "n3 x", "n4"],
            "die the preflight fails on 3 of 4 nodes, and none is excluded if most fail: ",
        ),
    ],
)
def test_most_nodes_are_not_the_cause(tmp_path: Path, answers: list[str], expected: str) -> None:
    lines = (each.partition(" ") for each in answers)
    (tmp_path / "answers").write_text(
        "".join((f"{node} problem {problem}\n" if problem else "") + f"{node} end\n" for node, _, problem in lines)
    )
    found = bash(BATCH, cwd=tmp_path)
    assert expected in "\n".join(found) + " "


@pytest.mark.parametrize(("shift", "words"), [(-9000, "behind that of n1"), (9000, "ahead of that of n1"), (0, "")])
def test_clock_of_a_node(tmp_path: Path, shift: int, words: str) -> None:
    (tmp_path / "answers").write_text("".join(f"{node} clock NOW\n{node} end\n" for node in ("n1", "n2", "n3", "n4")))
    code = BATCH.replace(
        "cp answers", f'local now=$(($(date +%s%3N) + {shift})); sed "/n2/s/NOW/$now/; s/NOW/$(date +%s%3N)/" answers >'
    )
    found = "\n".join(bash(code, cwd=tmp_path))
    assert (f"node n2: its clock is at least 8 s {words}" in found or "least 9 s" in found) == bool(words), found
    assert ("-1408" in found) == bool(words)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((127, 127, 127, 126), "die a program of the preflight cannot be run, correct its path: node n"),
        ((127, 0, 0, 0), "-1408 transient the preflight found bad nodes: node n1: the preflight command ended"),
        ((127, 127, 127, 1), "die the preflight fails on 4 of 4 nodes, and none is excluded if most fail: node n"),
    ],
)
def test_a_program_that_no_node_has_is_a_wrong_path(tmp_path: Path, statuses: tuple[int, ...], expected: str) -> None:
    tried = "".join(f"PSL_TRIED[n{k + 1}]='{status} - no such file';" for k, status in enumerate(statuses))
    blame = f"{tried} blame_failed_nodes\nend_by_bad_nodes"
    found = bash(BATCH.replace("ask_for_preflight checks '@(gpu|disk|clock)'\nend_by_bad_nodes", blame), cwd=tmp_path)
    assert expected in "\n".join(found)

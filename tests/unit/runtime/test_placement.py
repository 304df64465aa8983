"""Which nodes the batch script gives to roles that share an allocation, and that its work is in proportion to them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paislurm.translator.job import Resources
from paislurm.translator.planning.layout.capacity import Demand
from paislurm.translator.planning.layout.layout import Packing, pack
from paislurm.translator.planning.settings.of_role import placement_text
from paislurm.translator.site.profile import Shape

from .bash import run

PLACE = """
die() { echo "given up: $*"; exit; }
PSL_LAYOUT=shared SLURM_JOB_NODELIST=n GRANTED=$1
scontrol() { local each; for ((each = 0; each < GRANTED; each++)); do echo "n$each"; done; }
shift
while (($#)); do
  PSL_ROLE_NAME+=("r${#PSL_ROLE_NAME[@]}") PSL_SLOTS+=("$1") PSL_PLACEMENT+=("$2")
  shift 2
done
"""
SHOW = 'place_slots; printf "%s\\n" "${PSL_NODES_OF[@]}"'
COUNT = 'commands=0; set -T; trap "((commands++))" DEBUG; place_slots; trap - DEBUG; echo "$commands"'


def packed(cpus: list[tuple[int, int]], nodes: int = 1000) -> Packing:
    """Return where roles go, of each the slots and the CPUs of a task, on nodes of 16 CPUs."""
    none = {"memory_mib": 0, "gpus": 0, "shm_mib": 0, "declared_shm_mib": 0}
    demands = [Demand(slots=slots, resources=Resources(cpus=count, infiniband=False, **none)) for slots, count in cpus]
    found = pack([Shape.of(count=nodes, cpus=16, memory_mib=1000)], demands)
    assert found
    return found


def argv(found: Packing) -> list[str]:
    slots = [sum(each.slots * (each.last - each.first + 1) for each in placement) for placement in found.placements]
    texts = [placement_text(placement) for placement in found.placements]
    return [str(found.nodes), *(word for pair in zip(map(str, slots), texts, strict=True) for word in pair)]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 16)), min_size=1, max_size=6))
def test_slots_match_the_nodes_of_the_plan(roles: list[tuple[int, int]]) -> None:
    found = packed(roles)
    expected = [
        " ".join(
            f"n{node}" for each in placement for node in range(each.first, each.last + 1) for _ in range(each.slots)
        )
        for placement in found.placements
    ]
    assert run(PLACE + SHOW, *argv(found)).splitlines() == expected


def test_an_allocation_with_too_few_nodes_is_refused() -> None:
    said = run(PLACE + SHOW, "2", "4", "0-1:1 2-999999999:2")
    assert said == "given up: role r0 needs 4 slots and Slurm granted 2 on n0 n1\n"


def test_work_is_proportional_to_the_nodes_of_roles() -> None:
    """A role that has one of a thousand nodes does not look at the others."""
    few, many = (int(run(PLACE + COUNT, *argv(packed([(1, 16)] * roles)))) for roles in (50, 300))
    assert many < 6.3 * few
    wide = int(run(PLACE + COUNT, *argv(packed([(300, 16)]))))
    assert wide < many


ASK = """
scontrol() {
  printf 'scontrol %s\\n' "$*" >&2
  echo 'NodeName=n1 Arch=x86_64 CoresPerSocket=2 NodeAddr=10.0.0.1 NodeHostName=n1'
  echo 'NodeName=n2 Arch=x86_64 NodeAddr=n2 NodeHostName=n2'
  echo 'NodeName=n3 Arch=x86_64 NodeAddr=n3-eth NodeHostName=n3'
}
getent() {
  case $* in
    'ahostsv4 n2') echo '10.0.0.2 STREAM n2' ;;
    'ahosts n3-eth') echo '10.0.0.3 STREAM' ;;
  esac
}
ask_slurm n1 n2 n3 n4 2>&1
for node in n1 n2 n3 n4; do echo "$node ${PSL_ADDRESS_OF[$node]-none}"; done
"""


def test_the_addresses_of_all_nodes_need_one_slurm_query() -> None:
    asked, *found = run(ASK).splitlines()
    assert asked == "scontrol --oneliner show node n1,n2,n3,n4"
    assert found == ["n1 10.0.0.1", "n2 10.0.0.2", "n3 10.0.0.3", "n4 none"]


WITHOUT = """
command() { [[ $2 != getent ]] && builtin command "$@"; }
"""
HOSTS_FILE = """
read_hosts_file -ib0 n1 n2 n3 n4 <<'END'
127.0.0.1 localhost
# 10.0.0.9 n1-ib0
10.0.0.1\tn1.example n1-ib0   # n2-ib0
10.0.0.2 n2-ib0 n4-ib0
10.0.0.7 n1-ib0
10.0.0.4 n4
END
for node in n1 n2 n3 n4; do echo "$node ${PSL_ADDRESS_OF[$node]-none}"; done
"""


def test_a_hosts_file_gives_the_first_address_of_a_name() -> None:
    code = HOSTS_FILE.replace("\\t", "\t")
    assert run(code).splitlines() == ["n1 10.0.0.1", "n2 10.0.0.2", "n3 none", "n4 10.0.0.2"]


@pytest.mark.parametrize(("suffix", "said"), [("", "n1 10.0.0.1"), ("-ib0", "no address for node n1-ib0")])
def test_without_getent_slurm_gives_the_missing_addresses(suffix: str, said: str) -> None:
    """But not for names of another network."""
    code = f"PSL_ADDRESS_METHOD={'suffix' if suffix else 'getent'} PSL_NODE_SUFFIX={suffix} SLURMD_NODENAME=n1\n"
    code += "die() { printf '%s\\n' \"$*\"; exit; }\nPSL_NODES_OF=('n1 n2')\n"
    code += WITHOUT + ASK.replace("NodeAddr=n2 ", "NodeAddr=10.0.0.2 ").partition("getent()")[0]
    code += 'find_addresses 2>&1\nfor node in n1 n2; do echo "$node ${PSL_ADDRESS_OF[$node]-none}"; done\n'
    found = run(code).splitlines()
    assert any(line.startswith(said) for line in found), found
    if suffix:
        assert "/etc/hosts of n1, which has no getent, does not know it (site profile: address)" in found[-1]

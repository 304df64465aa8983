"""The shared layout's packing: each task gets the first node that has room; roles say where they have slots."""

from __future__ import annotations

from operator import mul

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paislurm.translator.job import Resources
from paislurm.translator.planning.layout.capacity import Demand, Nodes, allocate_disjoint, ceil_div, node_capacity
from paislurm.translator.planning.layout.layout import NodeRange, pack
from paislurm.translator.site.profile import Shape

NOTHING = Resources(cpus=1, memory_mib=0, gpus=0, shm_mib=0, declared_shm_mib=0, infiniband=False)
SHAPES = st.builds(
    Shape.of,
    count=st.integers(1, 8),
    cpus=st.sampled_from([2, 4, 8, 16]),
    memory_mib=st.sampled_from([100, 400, 1000]),
    gpus=st.sampled_from([0, 2, 4]),
    gpu_type=st.sampled_from(["", "a"]),
)
DEMANDS = st.builds(
    lambda **fields: Demand(**fields),  # noqa: PLW0108 - hypothesis does not read the types of a Struct
    slots=st.integers(1, 6),
    resources=st.builds(
        lambda cpus, memory, gpus: replace(NOTHING, cpus=cpus, memory_mib=memory, gpus=gpus),
        st.integers(1, 5),
        st.sampled_from([0, 10, 50, 77]),
        st.sampled_from([0, 0, 1, 2]),
    ),
    most_per_node=st.sampled_from([None, None, 1, 2, 3]),
    gpu_type=st.sampled_from(["", "", "a"]),
)


def first_fit(shape: Shape, nodes: int, demands: list[Demand]) -> list[list[int]] | None:
    """Return the slots of each role on every node, by looking at all nodes for each role."""
    free = [shape.model_copy(update={"count": 1}) for _ in range(nodes)]
    placements = [[0] * nodes for _ in demands]
    size = [(-d.resources.gpus, -d.resources.cpus, -d.resources.memory_mib) for d in demands]
    for position in sorted(range(len(demands)), key=lambda position: size[position]):
        demand, wanted = demands[position], demands[position].resources
        missing = demand.slots
        for node, left in enumerate(free):
            used = min(missing, node_capacity(left, demand))
            missing -= used
            placements[position][node] = used
            free[node] = left.model_copy(
                update={
                    "cpus": left.cpus - used * wanted.cpus,
                    "memory_mib": left.memory_mib - used * wanted.memory_mib,
                    "gpus": left.gpus - used * wanted.gpus,
                }
            )
        if missing:
            return None
    return placements


def evenly(shape: Shape, demands: list[Demand]) -> list[list[int]] | None:
    """Return the same on the fewest nodes, of which as small a share as possible is filled."""
    for nodes in range(1, shape.count + 1):
        if first_fit(shape, nodes, demands):
            shares = (
                shape.model_copy(update={"cpus": shape.cpus * step // 16, "gpus": ceil_div(shape.gpus * step, 16)})
                for step in range(1, 17)
            )
            return next(found for share in shares if (found := first_fit(share, nodes, demands)))
    return None


@settings(deadline=None, max_examples=150)
@given(SHAPES, st.lists(DEMANDS, min_size=1, max_size=7))
def test_packing_equals_the_node_by_node_reference(shape: Shape, demands: list[Demand]) -> None:
    found, expected = pack([shape], demands), evenly(shape, demands)
    if found is None or expected is None:
        assert found is expected
        return
    placements = [
        [next((each.slots for each in placement if each.first <= node <= each.last), 0) for node in range(found.nodes)]
        for placement in found.placements
    ]
    assert placements == expected
    sizes = [(d.resources.cpus, d.resources.memory_mib, d.resources.gpus) for d in demands]
    needed = [
        max(sum(map(mul, used, amounts)) for used in zip(*expected, strict=True))
        for amounts in zip(*sizes, strict=True)
    ]
    assert [found.cpus, found.memory_mib, found.gpus] == needed


def test_consecutive_nodes_with_equal_slots_form_one_range() -> None:
    half = replace(NOTHING, cpus=2)
    demands = [Demand(slots=7, resources=half), Demand(slots=1, resources=half)]
    found = pack([Shape.of(count=1000, cpus=4, memory_mib=1000)], demands)
    assert found
    assert found.placements == (
        (NodeRange(first=0, last=2, slots=2), NodeRange(first=3, last=3, slots=1)),
        (NodeRange(first=3, last=3, slots=1),),
    )


def test_components_take_the_smallest_nodes_that_suffice() -> None:
    """The GPU of the large node would cost the other role one of its two nodes."""
    shapes = [Shape.of(count=1, cpus=cpus, memory_mib=1000, gpus=gpus) for cpus, gpus in ((64, 1), (8, 1), (64, 0))]
    gpu, cpus = replace(NOTHING, gpus=1), replace(NOTHING, cpus=64)
    found = allocate_disjoint(shapes, [Demand(slots=1, resources=gpu), Demand(slots=2, resources=cpus)])
    assert found == (Nodes(count=1, tasks_per_node=1), Nodes(count=2, tasks_per_node=1))

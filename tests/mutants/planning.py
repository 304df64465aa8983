"""Planted bugs of the planner: layout, placement, memory, time limits, mounts, ranks."""

from __future__ import annotations

from .mutant import Mutant

_LAYOUT, _CAPACITY, _PREFER = (f"translator/planning/layout/{name}.py" for name in ("layout", "capacity", "prefer"))

PLANNING = (
    Mutant(
        "the search for the most slots stops one too low", "translator/planning/choose_layout.py",
        "            high = limit\n",
        "            high = limit - 1\n",
        ("tests/unit/planning/test_tasks_per_node.py", "-k", "slots_keep_the_limit"),
    ),
    Mutant(
        "of two packings, that with the smaller nodes wins, not that with fewer", _LAYOUT,
        "key=lambda packing: (packing.nodes, packing.cpus, packing.gpus)",
        "key=lambda packing: (packing.cpus, packing.nodes, packing.gpus)",
        ("tests/unit/planning/test_layouts.py", "-k", "idle_to_save_a_node"),
    ),
    Mutant(
        "roles take nodes in the order of the profile, not the smallest first", _CAPACITY,
        "for k in sorted(ways[position], key=lambda k: (sum(shapes[k].gpus_by_type.values()), shapes[k].cpus)):",
        "for k in ways[position]:",
        ("tests/unit/planning/test_packing.py", "-k", "smallest_nodes"),
    ),
    Mutant(
        "the memory of the batch script is not kept free on a node", _CAPACITY,
        "(memory_mib - demand.extra_memory_mib) // wanted.memory_mib",
        "memory_mib // wanted.memory_mib",
        ("tests/unit/planning/test_layouts.py", "-k", "room_for_the_batch_script"),
    ),
    Mutant(
        "at equal numbers of nodes roles of different sizes share an allocation", _PREFER,
        "    if nodes_of_shared < nodes_of_het:\n",
        "    if nodes_of_shared <= nodes_of_het:\n",
        ("tests/unit/planning/test_layouts.py", "-k", "only_equal_roles_share"),
    ),
    Mutant(
        "a time limit is rounded down to minutes", "translator/times.py",
        "-(-int(limit.total_seconds()) // 60) * 60",
        "int(limit.total_seconds()) // 60 * 60",
        ("tests/unit/test_times.py", "-k", "duration_in_slurm_format"),
    ),
    Mutant(
        "an option of the job overrides that of the role", "translator/planning/slurm/target.py",
        "own.get(name) or whole.get(name) or",
        "whole.get(name) or own.get(name) or",
        ("tests/unit/planning/test_slurm_target.py", "-k", "option_of_a_role"),
    ),
    Mutant(
        "memory for each CPU is rounded down", "translator/planning/slurm/components.py",
        "    return ceil_div(wanted.memory_mib + extra, wanted.cpus)\n",
        "    return (wanted.memory_mib + extra) // wanted.cpus\n",
        ("tests/unit/planning/test_layouts.py", "-k", "note_and_the_request"),
    ),
    Mutant(
        "the last node of a role shows as many tasks as the others", "translator/planning/placement/place.py",
        "count = min(slots, role.slots - first)",
        "count = slots",
        ("tests/unit/planning/test_placement.py", "-k", "as_they_were_read"),
    ),
    Mutant(
        "a shared storage gets a folder for each user, and another one does not", "translator/planning/mounts.py",
        '"own" if storage and not storage.shared else',
        '"own" if storage and storage.shared else',
        ("tests/unit/planning/test_slurm_target.py", "-k", "paths_of_the_site"),
    ),
    Mutant(
        "the grace after an interruption outlasts KillWait", "translator/planning/limits.py",
        "max(timedelta(seconds=1), min(site.time.grace, kill_wait))",
        "max(timedelta(seconds=1), site.time.grace, kill_wait)",
        ("tests/unit/planning/test_slurm_target.py", "-k", "before_kill_wait"),
    ),
    Mutant(
        "the ranks of the job override those of a role", "translator/planning/mpi.py",
        "(requested.ranks if requested else 0) or (whole.ranks if whole else 0) or 1",
        "(whole.ranks if whole else 0) or (requested.ranks if requested else 0) or 1",
        ("tests/unit/planning/test_mpi.py", "-k", "settings_of_a_role"),
    ),
)  # fmt: skip

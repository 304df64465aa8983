"""What tasks inherit of the variables about each other, and what they read from a file instead. Pure.

Bash takes time that grows with the square of the number of exported variables, for each command that it starts. So the
script exports few, and has all of them in the file `$PAISLURM_PEERS`. The limits are those of
`templates/runtime/batch/peers.sh`, and a test holds the two together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .environment import variable_names

if TYPE_CHECKING:
    from ..job import Job

MAX_PEER_VARIABLES = 320
"""How many variables about single tasks are exported."""
MAX_LIST_VARIABLES = 160
MAX_LIST_BYTES = 65536
"""How many lists of all tasks of a role are exported, and how many bytes of them."""
_BYTES_IN_A_LIST = 22
"""Of a task at most, with an address of IPv4: `255.255.255.255:65535,`."""
_PEER_VARIABLE = re.compile(r"PAI_(HOST_IP|PORT_LIST)_|PAI_TASK_ROLE_(\w+_HOST_LIST|INSTANCES)|PAI_\w+_PORT\b")
_OWN_VARIABLE = re.compile(r"PAI_(CONTAINER|CURRENT)_\w+_PORT\b")


def exported_tasks(job: Job) -> int | None:
    """Return of how many tasks of each role the variables are exported: None for all, 0 for one task of some roles.

    A task has its address under each name of its role, and for each port label two variables more.
    """
    named = zip(variable_names(job), job.roles, strict=True)
    of_one = [len(names) * (1 + 2 * len(role.ports)) for names, role in named]
    if sum(each * role.instances for each, role in zip(of_one, job.roles, strict=True)) <= MAX_PEER_VARIABLES:
        return None
    return MAX_PEER_VARIABLES // sum(of_one)


def exports_all(job: Job) -> bool:
    """Tell whether tasks inherit all variables about each other, however long the addresses are."""
    lists = [1 + len(names) for names in variable_names(job)]
    size = sum(each * (64 + role.instances * _BYTES_IN_A_LIST) for each, role in zip(lists, job.roles, strict=True))
    return exported_tasks(job) is None and sum(lists) <= MAX_LIST_VARIABLES and size <= MAX_LIST_BYTES


def names_peers(text: str) -> bool:
    """Tell whether commands name variables about other tasks."""
    return bool(_PEER_VARIABLE.search(_OWN_VARIABLE.sub("", text)))

"""Mirror what job files of protocol v2 have under `extras`, before any meaning is given to it.

Source: PAI protocol v2, extras; this project's docs for `slurm`.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import Annotated, Any

from ...job import PriorityClass
from ...validation.marks import Key
from ...validation.strict_model import Boolean, OpenModel, Text, choice, pattern
from ..extras_slurm import SlurmExtras

PLUGINS = "com.microsoft.pai.runtimeplugin"
"""The key of the runtime plugins under `extras`, and how prerequisites begin the names of theirs."""
MountPath = Annotated[str, pattern("a path such as `/mnt/data`, from `/` on and without tabs", r"/[^\t\n]*")]


class Plugin(OpenModel):
    """A runtime plugin; `taskroles` is a filter. Source: PAI protocol v2, extras."""

    plugin: Text
    parameters: dict[str, Any] | None = None
    taskroles: list[Text] | None = None
    failure_policy: Any = None


class StorageMount(OpenModel):
    """A storage of the site; `/mnt/<name>` without a path; skipped without a name. Source: PAI protocol v2, extras."""

    name: Text | None = None
    mount_path: MountPath | None = None


class HivedRole(OpenModel):
    """On which nodes a role runs; `skuNum` and its like are the server's own. Source: PAI protocol v2, extras."""

    sku_type: Text | None = None
    pinned_cell_id: Text | None = None


class HivedScheduler(OpenModel):
    """Priority and kinds of nodes. Source: PAI protocol v2, extras."""

    job_priority_class: Annotated[PriorityClass | None, choice("crit", "prod", "test", "oppo")] = None
    task_roles: dict[str, HivedRole] = {}


class Extras(OpenModel):
    """What lies outside the protocol proper; any key may stand here.

    The server takes any `gangAllocation` and only `false` counts; here it has to be true or false.
    Source: PAI protocol v2, extras; this project's docs for `slurm`.
    """

    gang_allocation: Boolean = True
    plugins: Annotated[list[Plugin] | None, Key(PLUGINS)] = None
    storages: list[StorageMount] | None = None
    hived_scheduler: HivedScheduler | None = None
    slurm: SlurmExtras | None = None
    job_status_change_notification: Any = None

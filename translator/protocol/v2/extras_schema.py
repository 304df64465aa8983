"""Mirror what job files of protocol v2 have under `extras`, before any meaning is given to it.

Source: PAI protocol v2, extras; this project's docs for `slurm`.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ...job import PriorityClass
from ...validation.strict_model import Boolean, OpenModel, Text, choice, pattern
from ..extras_slurm import SlurmExtras

PLUGINS = "com.microsoft.pai.runtimeplugin"
"""The key of the runtime plugins under `extras`, and how prerequisites begin the names of theirs."""
MountPath = Annotated[str, pattern("a path such as `/mnt/data`, from `/` on and without tabs", r"/[^\t\n]*")]


class Plugin(OpenModel):
    """A runtime plugin; `taskroles` is a filter. Source: PAI protocol v2, extras."""

    plugin: Text
    """The plugin's name, such as `ssh`, `cmd`, `git`, `tensorboard`."""
    parameters: dict[str, Any] | None = None
    """What the plugin is told."""
    taskroles: list[Text] | None = None
    """The task roles that it is for; without them, all."""
    failure_policy: Any = None
    """Whether a failure of its commands fails the task, `fail`, or means nothing, `ignore`."""


class StorageMount(OpenModel):
    """A storage of the site; `/mnt/<name>` without a path; skipped without a name. Source: PAI protocol v2, extras."""

    name: Text | None = None
    """The storage, as the site profile calls it."""
    mount_path: MountPath | None = None
    """Where tasks find it; /mnt/<name> by default."""


class HivedRole(OpenModel):
    """On which nodes a role runs; `skuNum` and its like are the server's own. Source: PAI protocol v2, extras."""

    sku_type: Text | None = None
    """A kind of nodes; the site profile maps it to a constraint."""
    pinned_cell_id: Text | None = None
    """Certain nodes; the site profile maps it to a list of nodes."""


class HivedScheduler(OpenModel):
    """Priority and kinds of nodes. Source: PAI protocol v2, extras."""

    job_priority_class: Annotated[PriorityClass | None, choice("crit", "prod", "test", "oppo")] = None
    """The priority; the site profile maps it to a QOS."""
    task_roles: dict[str, HivedRole] = {}
    """The nodes of each task role."""


class Extras(OpenModel):
    """What lies outside the protocol proper; any key may stand here.

    The server takes any `gangAllocation` and only `false` counts; here it has to be true or false.
    Source: PAI protocol v2, extras; this project's docs for `slurm`.
    """

    gang_allocation: Boolean = True
    """Whether all tasks start together; false lets them take turns in slots."""
    plugins: Annotated[list[Plugin] | None, Field(alias=PLUGINS)] = None
    """Plugins that run beside the tasks, in this order."""
    storages: list[StorageMount] | None = None
    """Storages of the site that tasks find at a path; an empty list means the user's default ones."""
    hived_scheduler: HivedScheduler | None = None
    """The priority of the job, and on which nodes its roles run."""
    slurm: SlurmExtras | None = None
    """The job's own words to Slurm."""
    job_status_change_notification: Any = None
    """Of which changes of the job's status the user is told."""

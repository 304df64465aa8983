"""The schema of `extras` in job files of protocol v2.

Source: PAI protocol v2, extras; this project's docs for `slurm`.
"""

# ruff: noqa: RUF012 - nothing modifies the defaults
from typing import Annotated, Any

from pydantic import Field

from ...job import PriorityClass
from ...validation.strict_model import Boolean, OpenModel, Text, choice, pattern
from ..extras_slurm import SlurmExtras

PLUGINS = "com.microsoft.pai.runtimeplugin"
"""The key of the runtime plugins under `extras`, and the prefix of plugin names in prerequisites."""
MountPath = Annotated[str, pattern("a path such as `/mnt/data`, from `/` on and without tabs", r"/[^\t\n]*")]


class Plugin(OpenModel):
    """A runtime plugin; `taskroles` is a filter. Source: PAI protocol v2, extras."""

    plugin: Text
    """The plugin's name, such as `ssh`, `cmd`, `git`, `tensorboard`."""
    parameters: dict[str, Any] | None = None
    """The parameters of the plugin."""
    taskroles: list[Text] | None = None
    """The task roles that use it. Default: all roles."""
    failure_policy: Any = None
    """Whether a failure of its commands fails the task (`fail`) or is ignored (`ignore`)."""


class StorageMount(OpenModel):
    """A storage of the site; `/mnt/<name>` without a path; skipped without a name. Source: PAI protocol v2, extras."""

    name: Text | None = None
    """The name of the storage in the site profile."""
    mount_path: MountPath | None = None
    """The path for tasks. Default: /mnt/<name>."""


class HivedRole(OpenModel):
    """The nodes of a role; `skuNum` and similar keys are internal to the server. Source: PAI protocol v2, extras."""

    sku_type: Text | None = None
    """A node type; the site profile maps it to a constraint."""
    pinned_cell_id: Text | None = None
    """Specific nodes; the site profile maps it to a list of nodes."""


class HivedScheduler(OpenModel):
    """Priority and node types. Source: PAI protocol v2, extras."""

    job_priority_class: Annotated[PriorityClass | None, choice("crit", "prod", "test", "oppo")] = None
    """The priority; the site profile maps it to a QOS."""
    task_roles: dict[str, HivedRole] = {}
    """The nodes of each task role."""


class Extras(OpenModel):
    """Additions to the protocol; any key is valid here.

    The server accepts any `gangAllocation`, but only `false` has an effect; here it must be true or false.
    Source: PAI protocol v2, extras; this project's docs for `slurm`.
    """

    gang_allocation: Boolean = True
    """Whether all tasks start together; with false they take turns in slots."""
    plugins: Annotated[list[Plugin] | None, Field(alias=PLUGINS)] = None
    """Plugins that run beside the tasks, in this order."""
    storages: list[StorageMount] | None = None
    """Storages of the site, with their paths for tasks; an empty list selects the user's default storages."""
    hived_scheduler: HivedScheduler | None = None
    """The priority of the job, and the nodes of its roles."""
    slurm: SlurmExtras | None = None
    """The job's settings for Slurm."""
    job_status_change_notification: Any = None
    """The changes of the job's status that notify the user."""

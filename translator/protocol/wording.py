"""Hints at keys of job files of protocol v2: what to write for a missing one, and where one belongs."""

from __future__ import annotations

from ..slurm_options import PASS_THROUGH
from ..validation.schema_errors import Wording

_TOP = "at the top level of the file"
_HOMES = {
    **dict.fromkeys(("cpu", "gpu", "memoryMB", "ports"), "under `resourcePerInstance`"),
    **dict.fromkeys(("shmMB", "infiniband"), "under `extraContainerOptions`"),
    **dict.fromkeys(("minFailedInstances", "minSucceededInstances"), "under `completion`"),
    **dict.fromkeys(("virtualCluster", "deployment"), "under `defaults`"),
    **dict.fromkeys(("preCommands", "postCommands"), "under `deployments`"),
    **dict.fromkeys(
        ("time", "layout", "onTimeout", "exportEnv", "workdir", "isDebug", "compat", *PASS_THROUGH),
        "under `extras.slurm`",
    ),
    **dict.fromkeys(("gangAllocation", "slurm", "hivedScheduler", "storages"), "under `extras`"),
    **dict.fromkeys(
        ("instances", "taskRetryCount", "dockerImage", "resourcePerInstance", "commands", "completion"),
        "in each of the `taskRoles`",
    ),
    "extraContainerOptions": "in each of the `taskRoles`",
    **dict.fromkeys(("parameters", "secrets", "deployments", "defaults"), _TOP),
    "jobRetryCount": f"{_TOP}; what a task has of its own is `taskRetryCount`",
    "extras": f"{_TOP}; what is for one role there goes under `extras: {{slurm: {{taskRoles: ...}}}}`, "
    "or `extras: {hivedScheduler: {taskRoles: ...}}` for `skuType`",
    "skuType": "under `extras: {hivedScheduler: {taskRoles: ...}}`",
}
"""Where keys stand that are easily written one level too high or too low."""
WORDING = Wording(
    missing={
        "protocolVersion": "begin the file with `protocolVersion: 2`",
        "$.type": "add `type: job`",
        "type": "say which kind of prerequisite this is: `type: dockerimage`, or data, script, output",
        "taskRoles": "add a role with its `dockerImage`, `resourcePerInstance` and `commands`",
        "dockerImage": "name a prerequisite of type dockerimage: `dockerImage: my_image`",
        "resourcePerInstance": "say what a task needs: `resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}`",
        "cpu": "add `cpu: 1`",
        "gpu": "add `gpu: 0` for a role without GPUs",
        "memoryMB": "add `memoryMB: 1024`, which is in MiB",
        "commands": "list what the role runs, a command an item: `- python train.py`",
        "plugin": "name it: `plugin: ssh`; the others are cmd, git, tensorboard and teamwise_storage",
        "uri": "name the image: `uri: repository/image:tag`",
        "name": "give it a name: `name: my_name`",
        "$.name": "name the job: `name: my_job`",
    },
    elsewhere={key: f"it stands {home}" for key, home in _HOMES.items()},
)

"""Hints for keys of job files of protocol v2: values of missing keys, and places of misplaced keys."""

from __future__ import annotations

from ..slurm_options import PASS_THROUGH
from ..validation.schema_errors import Wording

_TOP = "to the top level of the file"
_HOMES = {
    **dict.fromkeys(("cpu", "gpu", "memoryMB", "ports"), "under `resourcePerInstance`"),
    **dict.fromkeys(("shmMB", "infiniband"), "under `extraContainerOptions`"),
    **dict.fromkeys(("minFailedInstances", "minSucceededInstances"), "under `completion`"),
    **dict.fromkeys(("virtualCluster", "deployment"), "under `defaults`"),
    **dict.fromkeys(("preCommands", "postCommands"), "under `deployments`"),
    **dict.fromkeys(
        ("time", "layout", "onTimeout", "exportEnv", "workdir", "isDebug", "resumes", "compat", *PASS_THROUGH),
        "under `extras.slurm`",
    ),
    **dict.fromkeys(("gangAllocation", "slurm", "hivedScheduler", "storages"), "under `extras`"),
    **dict.fromkeys(
        ("instances", "taskRetryCount", "dockerImage", "resourcePerInstance", "commands", "completion"),
        "into each of the `taskRoles`",
    ),
    "extraContainerOptions": "into each of the `taskRoles`",
    **dict.fromkeys(("parameters", "secrets", "deployments", "defaults"), _TOP),
    "jobRetryCount": f"{_TOP}; the retry budget of a task is `taskRetryCount`",
    "extras": f"{_TOP}; settings of one role go under `extras: {{slurm: {{taskRoles: ...}}}}`, "
    "or `extras: {hivedScheduler: {taskRoles: ...}}` for `skuType`",
    "skuType": "under `extras: {hivedScheduler: {taskRoles: ...}}`",
}
"""Places of keys that are easily written one level too high or too low."""
WORDING = Wording(
    missing={
        "protocolVersion": "start the file with `protocolVersion: 2`",
        "$.type": "add `type: job`",
        "type": "add the type of the prerequisite: `type: dockerimage`, or data, script, output",
        "taskRoles": "add a role with its `dockerImage`, `resourcePerInstance` and `commands`",
        "deployments.taskRoles": "add a role with its `preCommands` or `postCommands`",
        "dockerImage": "name a prerequisite of type dockerimage: `dockerImage: my_image`",
        "resourcePerInstance": "add the needs of a task: `resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 1}`",
        "cpu": "add `cpu: 1`",
        "gpu": "add `gpu: 0` for a role without GPUs",
        "memoryMB": "add `memoryMB: 1024`; the unit is MiB",
        "commands": "list the commands of the role, one per item: `- python train.py`",
        "plugin": "add `plugin: ssh`; the others are cmd, git, tensorboard and teamwise_storage",
        "uri": "add the image: `uri: repository/image:tag`",
        "name": "add `name: my_name`",
        "$.name": "add `name: my_job`",
    },
    elsewhere={key: f"move it {home}" for key, home in _HOMES.items()},
)

"""The groups of facts that a plan consists of beside its components and roles."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from msgspec import Struct

from .slurm.hazards import Hazard


class EnvironmentPlan(Struct, frozen=True, kw_only=True):
    """Say which variables tasks have, as far as they are known before the job runs."""

    of_job: tuple[tuple[str, str], ...]
    """Those of every task."""
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    """More of them, each with the parts of its value: between two parts stands the user's name."""
    of_commands: tuple[tuple[str, str], ...]
    """Those that are set last, in the shell of the commands."""
    exported: tuple[str, ...] | None
    """The variables of the submitting shell that tasks get, beginnings with a `*`; None for all."""
    makes_output: bool
    """Whether a missing PAI_OUTPUT_DIR is made: the job names none. Source: PAI rest-server, outputDir of v1."""
    full_job_name: bool
    """Whether PAI_JOB_NAME is `user~name`."""
    exports_all_peers: bool
    """Whether tasks inherit all variables about each other."""


class NodePlan(Struct, frozen=True, kw_only=True):
    """Say what the site's nodes are like and how tasks reach each other there."""

    address: Literal["getent", "node-address", "suffix"]
    node_suffix: str
    first_port: int
    last_port: int
    gpu_vendor: Literal["nvidia", "amd"]
    gpu_gres: str
    """What Slurm calls the job's GPUs if it does not call them `gpu`, else ""."""
    sysfs: str
    """Where nodes have the folders `infiniband` and `net`."""


class TimePlan(Struct, frozen=True, kw_only=True):
    """Say how long the job and its tasks have."""

    limit: timedelta | None
    warning: timedelta
    """How long before the time limit tasks get TERM; 0: not at all."""
    grace: timedelta
    """The time from TERM to KILL when a decision stops tasks."""
    interrupted_grace: timedelta
    """The same when Slurm ends the job."""
    debug_hold: timedelta
    """How long a failed task is held, for somebody to look at it; 0: not at all."""


class RetryPlan(Struct, frozen=True, kw_only=True):
    """Say how often the job and its tasks are tried again."""

    retry_limit: int
    max_transient_retries: int
    max_restarts: int
    """How often a job or a task with a retry count of -2 is restarted."""
    monitor_after: Literal["", "failure", "end"] = ""
    """After which ends of its own an attempt takes a step of the monitor: the site has no other near at hand."""


class SlurmPlan(Struct, frozen=True, kw_only=True):
    """Say which Slurm the site has."""

    cluster: str
    """"" for the cluster of the machine that submits."""
    version: str
    """"" where it is not known."""
    hazards: tuple[Hazard, ...]
    """The faults of that version which concern the job, in components or not."""

"""The settings of a job. The script contains only those that differ from their default.

A new setting needs a row here, or in `of_role`, and its use in `templates/runtime`. A default of the site profile is
read from its model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...site.devices import Infiniband
from ...site.profile import Site
from ..preflight import DEFAULT_SECONDS, preflight_seconds
from .setting import Row

if TYPE_CHECKING:
    from datetime import timedelta

    from ..job_plan import Plan
    from .setting import Setting

_SITE = Site.of()
_RETRIES = _SITE.retry.max_transient_retries
_SITE_PORTS = "the site profile, ports; default: OpenPAI's range, below the kernel's"


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


OF_JOB: tuple[Row[Plan], ...] = (
    Row("JOB_NAME", "name of the job", lambda plan: plan.job_name, None, ("name",)),
    Row(
        "FULL_JOB_NAME",
        "1: PAI_JOB_NAME is user~name",
        lambda plan: int(plan.environment.full_job_name),
        "0",
        ("job-name-form",),
    ),
    Row("GANG", "0: tasks start as slots become free, and are retried", lambda plan: int(plan.gang), "1", ("gang",)),
    Row(
        "LAYOUT",
        "het: a component for each role; shared: all roles share one allocation",
        lambda plan: plan.layout.kind,
        "plain",
        ("layout",),
        "LAYOUT",
    ),
    Row(
        "MIN_SUCCEEDED_OF_JOB",
        "succeeded tasks of all roles that complete the job",
        lambda plan: max(plan.min_succeeded, 0),
        "0",
        ("min-succeeded-of-job",),
    ),
    Row(
        "MANY_TASKS",
        "1: tasks inherit no variables about each other",
        lambda plan: int(not plan.environment.exports_all_peers),
        "0",
        ("instances", "ports"),
        "more tasks than a process inherits variables of",
    ),
    Row(
        "CLUSTER",
        "cluster to submit to (sbatch -M)",
        lambda plan: plan.slurm.cluster,
        "''",
        (),
        "the site profile, cluster",
    ),
    Row(
        "ADDRESS_METHOD",
        "method for finding the addresses of nodes",
        lambda plan: plan.nodes.address,
        _SITE.address.method,
        (),
        "the site profile, address",
    ),
    Row(
        "NODE_SUFFIX",
        "suffix of node names for address lookup",
        lambda plan: plan.nodes.node_suffix,
        "''",
        (),
        "the site profile, address",
    ),
    Row(
        "FIRST_PORT",
        "first port for tasks",
        lambda plan: plan.nodes.first_port,
        str(_SITE.ports.first),
        (),
        _SITE_PORTS,
    ),
    Row("LAST_PORT", "last port for tasks", lambda plan: plan.nodes.last_port, str(_SITE.ports.last), (), _SITE_PORTS),
    Row(
        "GRACE",
        "seconds from TERM to KILL when the job is decided",
        lambda plan: _seconds(plan.times.grace),
        str(_seconds(_SITE.time.grace)),
        (),
        "the site profile, time.grace: seconds from TERM to KILL",
    ),
    Row(
        "INTERRUPTED_GRACE",
        "seconds from TERM to KILL when Slurm ends the job",
        lambda plan: _seconds(plan.times.interrupted_grace),
        '"$PSL_GRACE"',
        (),
        "the same when Slurm ends the job, within time.killWait",
        lambda plan: _seconds(plan.times.grace),
    ),
    Row(
        "WARNING",
        "seconds between TERM to tasks and the time limit",
        lambda plan: _seconds(plan.times.warning),
        "0",
        ("time",),
        "seconds before the time limit; 0 for limits of up to five minutes",
    ),
    Row(
        "MAX_TRANSIENT_RETRIES",
        "limit on retries of a task after transient failures",
        lambda plan: _RETRIES if plan.gang and not plan.requeues else plan.retry_policy.max_transient_retries,
        str(_RETRIES),
        (),
        "the site profile, retry.maxTransientRetries",
    ),
    Row(
        "MAX_RESTARTS",
        "limit on retries of a task with a retry count of -2",
        lambda plan: plan.retry_policy.max_restarts if plan.restarts_tasks else _SITE.retry.most_restarts,
        str(_SITE.retry.most_restarts),
        (),
        "the site profile, retry.maxRestarts; default: retry.maxTransientRetries",
    ),
    Row(
        "MONITOR_AFTER",
        "ends after which this script runs the monitor once: failure, or end for any",
        lambda plan: plan.retry_policy.monitor_after,
        None,
        (),
        "the site profile, monitor: none; any end if it sends a notification, restarts the job, or for a job of a "
        "sweep with --at-once",
    ),
    Row(
        "CONTAINER_RUNTIME",
        "container runtime of the tasks",
        lambda plan: plan.containers.runtime,
        _SITE.containers.runtime,
        (),
        "the site profile, containers",
    ),
    Row(
        "MOUNTS",
        "mounts: all (a folder) or own (<folder>/<user>); path; path in tasks",
        lambda plan: tuple(word for mount in plan.containers.mounts for word in mount),
        None,
        (),
        "the site profile, containers.mounts, defaultFileSystem and storages",
    ),
    Row(
        "GPU_VENDOR",
        "vendor of the GPUs",
        lambda plan: plan.nodes.gpu_vendor,
        _SITE.gpus.vendor,
        (),
        "the site profile, gpus",
    ),
    Row(
        "GPU_GRES",
        "GRES of the GPUs; Slurm lists to tasks only those called gpu",
        lambda plan: plan.nodes.gpu_gres,
        "''",
        (),
        "the site profile, gpus.gres",
    ),
    Row(
        "SYSFS",
        "folder with the nodes' descriptions of InfiniBand",
        lambda plan: plan.nodes.sysfs if plan.checks_infiniband else Infiniband.of().sysfs,
        Infiniband.of().sysfs,
        (),
        "the site profile, infiniband",
    ),
    Row(
        "GID_INDEX",
        "GID index of RoCE adapters",
        lambda plan: "" if plan.nodes.gid_index is None or not plan.checks_infiniband else str(plan.nodes.gid_index),
        "''",
        (),
        "the site profile, infiniband.gidIndex; default: each node's first GID of RoCE v2 with an IPv4 address",
    ),
    Row(
        "PREFLIGHT_SECONDS",
        "seconds for each step of the preflight",
        lambda plan: preflight_seconds(plan.roles),
        str(DEFAULT_SECONDS),
        ("preflight",),
        "the job file, else the site profile: preflight.timeout",
    ),
    Row(
        "FETCHES_IMAGES",
        "1: fetches images from registries",
        lambda plan: "1" if plan.fetches_images else "",
        "''",
        ("image",),
        "images without a path in the site profile",
    ),
    Row(
        "IMAGE_CACHE",
        "cache of fetched images, per user",
        lambda plan: plan.containers.cache if plan.fetches_images else "",
        "''",
        (),
        "the site profile, containers.cache",
    ),
    Row(
        "CACHE_SHARED",
        "1: all nodes see that folder",
        lambda plan: int(plan.containers.shared) if plan.fetches_images else 0,
        "0",
        (),
        "the site profile, containers.cacheShared",
    ),
    Row(
        "CERTIFICATES",
        "CA certificates for registries",
        lambda plan: plan.containers.certificates if plan.fetches_images else "",
        None,
        (),
        "the site profile, containers.certificates",
    ),
    Row(
        "LOGINS",
        "names of the secrets that are logins of registries",
        lambda plan: " ".join(plan.containers.logins) if plan.fetches_images else "",
        None,
        ("image-auth",),
        "a secret for the credentials of each image",
    ),
    Row(
        "LOGIN_FILE",
        "file with such a login; the user's name goes between its parts",
        lambda plan: plan.containers.login_file if plan.fetches_images else (),
        None,
        ("auth-file",),
    ),
    Row(
        "EXPORT_ENV",
        "variables of the submitting shell for tasks, beside those that Slurm and a login need",
        lambda plan: "|".join(plan.environment.exported or ()),
        None,
        ("export-env",),
        "variables that Slurm and a login need are always kept",
        lambda plan: "" if plan.environment.exported is None else None,
    ),
    Row(
        "PROGRAM_ENV",
        "variables of jobEnvs that bash cannot export; env passes them to programs",
        lambda plan: plan.environment.of_programs,
        None,
        ("job-envs",),
    ),
    Row(
        "STAGE_CODE",
        "1: each task has a writable copy of codeDir",
        lambda plan: "1" if plan.stages_code else "",
        "''",
        ("code-dir",),
        "a copy in the working directory of each task: PAI protocol v1, codeDir",
    ),
    Row(
        "BARRIER",
        "1: tasks wait until all have started",
        lambda plan: "1" if plan.has_barrier else "",
        "''",
        ("plugins",),
        "the plugin ssh, sshbarrier",
    ),
    Row(
        "MAKE_OUTPUT",
        "1: a missing outputDir is made",
        lambda plan: "1" if plan.environment.makes_output else "",
        "''",
        ("output-dir",),
        "made if it is missing: PAI rest-server, protocol v1",
    ),
    Row(
        "ONE_LOG",
        "1: standard output and error of a task go to one file",
        lambda plan: int(plan.one_log),
        "0",
        (),
        "the site profile, logs.oneFilePerTask",
    ),
    Row(
        "DEBUG_HOLD_SECONDS",
        "seconds for which a failed task keeps its node (isDebug)",
        lambda plan: str(_seconds(plan.times.debug_hold)) if plan.times.debug_hold else "",
        "''",
        ("debug",),
        "at most the site profile's time.debugHold; default: OpenPAI's 7 days",
    ),
    Row(
        "CHECKPOINTS",
        "pattern of the job's checkpoints",
        lambda plan: plan.checkpoints,
        None,
        ("resumes",),
    ),
    Row(
        "SECRET_NAMES",
        "names of the secrets, whose values are in separate files",
        lambda plan: " ".join(plan.secrets),
        "''",
        ("secrets",),
    ),
)


def job_settings(plan: Plan) -> list[Setting]:
    """Return the settings of a job that differ from their default."""
    return [setting for row in OF_JOB if (setting := row.setting(plan))]

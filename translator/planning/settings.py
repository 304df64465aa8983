"""What the script is told of a job: settings with their meaning and where they come from.

A setting that has its default value stands in no script: the runtime fills the defaults in, from this same table. A new
setting is a row here and its use in `templates/runtime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ..job import NEVER, RESTART_ALWAYS
from . import setting_forms as forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from .plan import Plan, RolePlan
    from .setting_forms import Form, Value

Owner = TypeVar("Owner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Tell the script one thing, `name` without the prefix of its variables.

    `meaning` has the unit. `fields` are the parts of the job file that it comes from, by their names in
    `rendering/provenance.yaml`, and `rule` says how, "" where it is a field's value as it stands.
    """

    name: str
    value: Value
    meaning: str
    fields: tuple[str, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class Row(Generic[Owner]):
    """Describe a setting of a job or a role.

    `form` is that of all its values, which holds whoever has written them into a script.
    `default` is its value where the script does not have it, as bash writes it for the runtime; None: the runtime asks
    whether there is one. `usual` finds the same value for a plan, where it is not the text of `default`.
    """

    name: str
    form: Form
    meaning: str
    value: Callable[[Owner], Value]
    default: str | None = None
    fields: tuple[str, ...] = ()
    rule: str = ""
    usual: Callable[[Owner], Value | None] | None = None

    def is_default(self, owner: Owner) -> bool:
        value = self.value(owner)
        if self.usual is not None:
            return value == self.usual(owner)
        if self.default is None or isinstance(value, tuple):
            return not value
        return str(value) == self.default.strip("'")

    def setting(self, owner: Owner) -> Setting:
        return Setting(
            name=self.name, value=self.value(owner), meaning=self.meaning, fields=self.fields, rule=self.rule
        )


_SITE_PORTS = "the site profile, ports; without it OpenPAI's range, below the kernel's own"


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


_JOB: tuple[Row[Plan], ...] = (
    Row("JOB_NAME", forms.NAME, "name of the job", lambda plan: plan.job_name, None, ("name",)),
    Row(
        "FULL_JOB_NAME",
        forms.NUMBER,
        "1: PAI_JOB_NAME is user~name",
        lambda plan: int(plan.full_job_name),
        "0",
        ("job-name-form",),
    ),
    Row(
        "GANG",
        forms.NUMBER,
        "0: tasks start as slots become free, and are retried",
        lambda plan: int(plan.gang),
        "1",
        ("gang",),
    ),
    Row(
        "LAYOUT",
        forms.LAYOUT,
        "het: a component each; shared: one for all",
        lambda plan: plan.layout.kind,
        "plain",
        ("layout",),
        "LAYOUT",
    ),
    Row(
        "MIN_SUCCEEDED_OF_JOB",
        forms.NUMBER,
        "succeeded tasks of all roles that complete the job",
        lambda plan: max(plan.min_succeeded, 0),
        "0",
        ("min-succeeded-of-job",),
    ),
    Row(
        "ADDRESS_METHOD",
        forms.ADDRESS_METHOD,
        "how addresses of nodes are found",
        lambda plan: plan.address,
        "getent",
        (),
        "the site profile, address",
    ),
    Row(
        "NODE_SUFFIX",
        forms.HOST_SUFFIX,
        "ending of the node names that addresses are of",
        lambda plan: plan.node_suffix,
        "''",
        (),
        "the site profile, address",
    ),
    Row("FIRST_PORT", forms.NUMBER, "first port for tasks", lambda plan: plan.first_port, "15000", (), _SITE_PORTS),
    Row("LAST_PORT", forms.NUMBER, "last port for tasks", lambda plan: plan.last_port, "32000", (), _SITE_PORTS),
    Row(
        "GRACE",
        forms.NUMBER,
        "seconds from TERM to KILL when the job is decided",
        lambda plan: _seconds(plan.grace),
        "20",
        (),
        "the site profile, time.grace: seconds from TERM to KILL",
    ),
    Row(
        "INTERRUPTED_GRACE",
        forms.NUMBER,
        "seconds from TERM to KILL when Slurm ends the job",
        lambda plan: _seconds(plan.interrupted_grace),
        "20",
        (),
        "the same where Slurm ends the job, within time.killWait",
    ),
    Row(
        "WARNING",
        forms.NUMBER,
        "seconds before the time limit at which tasks get TERM",
        lambda plan: _seconds(plan.warning),
        "0",
        ("time",),
        "seconds before the time limit; 0 for limits of up to five minutes",
    ),
    Row(
        "MAX_TRANSIENT_RETRIES",
        forms.NUMBER,
        "most retries of a task after transient failures",
        lambda plan: plan.transient_ceiling,
        "10",
        (),
        "the site profile, retry.maxTransientRetries",
    ),
    Row(
        "MAX_RESTARTS",
        forms.NUMBER,
        "most retries of a task that is to run for ever",
        lambda plan: plan.restart_limit if plan.restarts_tasks else 10,
        "10",
        (),
        "the site profile, retry.maxRestarts; without it retry.maxTransientRetries",
    ),
    Row(
        "CONTAINER_RUNTIME",
        forms.CONTAINER_RUNTIME,
        "what tasks run in",
        lambda plan: plan.containers.runtime,
        "none",
        (),
        "the site profile, containers",
    ),
    Row(
        "MOUNTS",
        forms.MOUNTS,
        "mounted for tasks: all of a folder or own, <folder>/<user>; its path; where tasks see it",
        lambda plan: tuple(word for mount in plan.containers.mounts for word in mount),
        None,
        (),
        "the site profile, containers.mounts, defaultFileSystem and storages",
    ),
    Row(
        "GPU_VENDOR",
        forms.GPU_VENDOR,
        "whose GPUs",
        lambda plan: plan.gpu_vendor,
        "nvidia",
        (),
        "the site profile, gpus",
    ),
    Row(
        "GPU_GRES",
        forms.GRES,
        "what Slurm calls the GPUs, since it lists to tasks only what it calls gpu",
        lambda plan: plan.gpu_gres,
        "''",
        (),
        "the site profile, gpus.gres",
    ),
    Row(
        "SYSFS",
        forms.PATH,
        "where nodes describe their InfiniBand",
        lambda plan: plan.sysfs if plan.checks_fabric else "/sys/class",
        "/sys/class",
        (),
        "the site profile, infiniband",
    ),
    Row(
        "FETCHES_IMAGES",
        forms.FLAG,
        "1: fetches images from registries",
        lambda plan: "1" if plan.fetches_images else "",
        "''",
        ("image",),
        "images that the site profile has no path of",
    ),
    Row(
        "IMAGE_CACHE",
        forms.CACHE,
        "cache of fetched images, per user",
        lambda plan: plan.containers.cache if plan.fetches_images else "",
        "''",
        (),
        "the site profile, containers.cache",
    ),
    Row(
        "CACHE_SHARED",
        forms.NUMBER,
        "1: all nodes see that folder",
        lambda plan: int(plan.containers.shared) if plan.fetches_images else 0,
        "0",
        (),
        "the site profile, containers.cacheShared",
    ),
    Row(
        "CERTIFICATES",
        forms.PATH,
        "certificates by which registries are trusted",
        lambda plan: plan.containers.certificates if plan.fetches_images else "",
        None,
        (),
        "the site profile, containers.certificates",
    ),
    Row(
        "LOGINS",
        forms.FILE_NAMES,
        "names of the secrets that are logins of registries",
        lambda plan: " ".join(plan.containers.logins) if plan.fetches_images else "",
        None,
        ("image-auth",),
        "a secret for the credentials of each image",
    ),
    Row(
        "LOGIN_FILE",
        forms.PATH_IN_PARTS,
        "a file with such a login, in parts between which the user's name stands",
        lambda plan: plan.containers.login_file if plan.fetches_images else (),
        None,
        ("auth-file",),
    ),
    Row(
        "EXPORT_ENV",
        forms.EXPORTS,
        "what tasks have of the submitting shell's environment beside what Slurm and a login need",
        lambda plan: "|".join(plan.export_env or ()),
        None,
        ("export-env",),
        "what Slurm and a login need is not left out",
        lambda plan: "" if plan.export_env is None else None,
    ),
    Row(
        "STAGE_CODE",
        forms.FLAG,
        "1: tasks find codeDir in their working directory",
        lambda plan: "1" if plan.stages_code else "",
        "''",
        ("code-dir",),
        "a copy in the working directory of each task: PAI protocol v1, codeDir",
    ),
    Row(
        "BARRIER",
        forms.FLAG,
        "1: tasks wait until all have begun",
        lambda plan: "1" if plan.has_barrier else "",
        "''",
        ("plugins",),
        "the plugin ssh, sshbarrier",
    ),
    Row(
        "MAKE_OUTPUT",
        forms.FLAG,
        "1: a missing outputDir is made",
        lambda plan: "1" if plan.makes_output else "",
        "''",
        ("output-dir",),
        "made if it is missing: PAI rest-server, protocol v1",
    ),
    Row(
        "DEBUG_HOLD_SECONDS",
        forms.SECONDS,
        "seconds for which a failed task keeps its node (isDebug)",
        lambda plan: str(_seconds(plan.debug)) if plan.debug else "",
        "''",
        ("debug",),
        "the site profile, time.debugHold; without it OpenPAI's 7 days",
    ),
    Row(
        "SECRET_NAMES",
        forms.FILE_NAMES,
        "names of the secrets; values are in files beside",
        lambda plan: " ".join(plan.secrets),
        "''",
        ("secrets",),
    ),
)


@dataclass(frozen=True, slots=True)
class _Of:
    """Hold a role and its plan."""

    role: RolePlan
    plan: Plan

    @property
    def in_container(self) -> bool:
        return self.plan.containers.runtime != "none"


_ROLE: tuple[Row[_Of], ...] = (
    Row("ROLE_NAME", forms.NAME, "name of the task role", lambda of: of.role.name, None, ("role",)),
    Row("INSTANCES", forms.NUMBER, "tasks", lambda of: of.role.instances, "1", ("instances",)),
    Row(
        "SLOTS",
        forms.NUMBER,
        "tasks that run at a time",
        lambda of: of.role.slots,
        '"${PSL_INSTANCES[role]}"',
        ("instances", "slots"),
        "one for each task, or how many run at a time",
        lambda of: of.role.instances,
    ),
    Row(
        "ROLE_FOLDER",
        forms.FOLDER_NAME,
        "folder of its logs",
        lambda of: of.role.folder,
        '"$role-${PSL_ROLE_NAME[role]}"',
        ("role",),
        "the role's position and its name, as a folder can have it",
        lambda of: f"{of.role.position}-{of.role.name}",
    ),
    Row(
        "ROLE_ALIASES",
        forms.VARIABLE_PARTS,
        "names of the role in variables and host names",
        lambda of: " ".join(of.role.variable_names),
        '"${PSL_ROLE_NAME[role]}"',
        ("role",),
        "the name, and OpenPAI's controller name for it: PAI rest-server, convertName",
        lambda of: of.role.name,
    ),
    Row(
        "MIN_FAILED",
        forms.NUMBER,
        "failed tasks that fail the job",
        lambda of: of.role.completion.min_failed,
        "1",
        ("min-failed",),
    ),
    Row(
        "MIN_SUCCEEDED",
        forms.NUMBER,
        "succeeded tasks that complete the job",
        lambda of: of.role.completion.min_succeeded,
        str(NEVER),
        ("min-succeeded",),
    ),
    Row(
        "TASK_RETRIES",
        forms.NUMBER,
        f"retries of a failed task (-1: no limit, {RESTART_ALWAYS}: whatever its end)",
        lambda of: of.role.task_retry_limit,
        "0",
        ("task-retries",),
    ),
    Row(
        "PLACEMENT",
        forms.NUMBERS,
        "slots on each node of the allocation",
        lambda of: " ".join(str(count) for count in of.role.placement),
        "''",
        ("instances", "cpus", "memory", "gpus"),
        "slots on each node of the one allocation",
    ),
    Row(
        "PORT_COUNTS",
        forms.PORTS,
        "ports of a task: label and number",
        lambda of: " ".join(f"{port.label}:{port.count}" for port in of.role.ports),
        "'ssh:1 http:1'",
        ("ports",),
        "`ssh` and `http` are added: PAI rest-server, ports",
    ),
    Row(
        "FIXED_PORTS",
        forms.PORTS,
        "first port of each label that has fixed ones",
        lambda of: " ".join(f"{port.label}:{port.first}" for port in of.role.ports if port.first),
        None,
        ("ports",),
        "the first port of each label that has fixed ones: PAI protocol v1, portList",
    ),
    Row("ROLE_GPUS", forms.NUMBER, "GPUs of a task", lambda of: of.role.resources.gpus, "0", ("gpus",)),
    Row(
        "REFERENCE_OF",
        forms.IMAGE,
        "image: registry, repository, tag or digest",
        lambda of: _reference(of) if of.in_container else "",
        None,
        ("image",),
        "registry, name, and tag or digest; `docker.io` and `latest` where they are left out: Docker",
    ),
    Row(
        "IMAGE_OF",
        forms.PATH,
        "image",
        lambda of: str(of.role.image_plan.path) if of.in_container and not _reference(of) else "",
        None,
        ("image",),
        "the site profile, containers.images",
    ),
    Row(
        "SHM_OF",
        forms.NUMBER,
        "MiB of /dev/shm",
        lambda of: of.role.resources.shm_mib if of.plan.containers.sizes_shm and of.in_container else 0,
        None,
        ("shm",),
    ),
    Row(
        "INFINIBAND_OF",
        forms.NUMBER,
        "1: its containers see the InfiniBand",
        lambda of: int(of.in_container and of.role.resources.infiniband),
        None,
        ("infiniband",),
    ),
    Row(
        "INFINIBAND_CHECKS",
        forms.INFINIBAND_CHECKS,
        "checked on its nodes before the job starts",
        lambda of: " ".join(of.role.infiniband.checks) if of.role.infiniband else "",
        None,
        ("infiniband",),
        "the site profile, infiniband: what nodes are looked at for",
    ),
    Row(
        "RANKS_OF",
        forms.NUMBER,
        "MPI ranks of a task, which srun starts",
        lambda of: of.role.ranks,
        None,
        ("mpi",),
        "one for each task, where ranksPerInstance is left out",
    ),
    Row(
        "MPI_WORLD_OF",
        forms.NUMBERS,
        "roles of its MPI world, by their number",
        lambda of: " ".join(str(position) for position in of.role.mpi_group.roles) if of.role.mpi_group else "",
        None,
        ("mpi",),
        "the positions of the roles that are one world",
    ),
    Row(
        "WORKDIR",
        forms.WORKDIR,
        "where the commands start: task, submit, or a folder",
        lambda of: of.role.workdir,
        None,
        ("workdir",),
        "",
        lambda _: "task",
    ),
    Row(
        "SHELL_OPTIONS",
        forms.SHELL_OPTIONS,
        "options of the commands' bash",
        lambda of: _shell_options(of.role),
        "'-e -u -o pipefail'",
        ("nounset",),
    ),
    Row(
        "HOOKS_BEFORE",
        forms.STEPS_BEFORE,
        "hooks before the commands, in order",
        lambda of: " ".join(step.word for step in of.role.before),
        None,
        ("prerequisites", "plugins"),
        "each after what it requires, and plugins last: PAI issue 5145",
    ),
    Row(
        "HOOKS_AFTER",
        forms.STEPS_AFTER,
        "hooks after the commands, in order",
        lambda of: " ".join(step.word for step in of.role.after),
        None,
        ("prerequisites", "plugins"),
        "the order of the start in reverse: PAI runtime",
    ),
)


def job_settings(plan: Plan) -> list[Setting]:
    """Return the settings of a job that are not their default."""
    return [row.setting(plan) for row in _JOB if not row.is_default(plan)]


def role_settings(role: RolePlan, plan: Plan) -> list[Setting]:
    """Return the settings of a role that are not their default."""
    of = _Of(role, plan)
    return [row.setting(of) for row in _ROLE if not row.is_default(of)]


def job_setting_forms() -> dict[str, Form]:
    """Return the settings that a job can have, by name, and the form of each."""
    return {row.name: row.form for row in _JOB}


def role_setting_forms() -> dict[str, Form]:
    """Return the settings that a role can have, by name, and the form of each."""
    return {row.name: row.form for row in _ROLE}


def defaults() -> tuple[Iterator[tuple[str, str]], Iterator[tuple[str, str]]]:
    """Return the defaults of a job's settings and of a role's: names, and values as bash writes them."""
    return _defaults(_JOB), _defaults(_ROLE)


def _defaults(rows: tuple[Row[Owner], ...]) -> Iterator[tuple[str, str]]:
    return ((row.name, row.default) for row in rows if row.default is not None)


def _reference(of: _Of) -> str:
    """Return the words by which the script knows an image of a registry, "" for one that has a path."""
    found = of.role.image_plan.reference
    return f"{found.registry} {found.repository} {found.version}" if found else ""


def _shell_options(role: RolePlan) -> str:
    command = role.command
    switches = (("-e", command.errexit), ("-u", command.nounset), ("-o pipefail", command.pipefail))
    return " ".join(option for option, wanted in switches if wanted)

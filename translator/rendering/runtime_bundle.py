"""The runtime: the bash that is the same in every job that uses the same parts of it, and its seal."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from ..exit_codes.table import exit_rules
from ..planning.settings.of_job import OF_JOB
from ..planning.settings.of_role import OF_ROLE, role_settings
from ..site.containers import BASH_PARTS, BASH_WITH_STORE, CONTAINER_RUNTIMES
from .engine import load
from .shell import here_document, our_own, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..planning.plan import Plan, RolePlan
    from ..planning.settings.setting import Owner, Row
    from .shell import ShellWord


class Section(Struct, frozen=True):
    """Name a file of the runtime, and the uses of which a job must have one to need it; none: every job does."""

    file: str
    uses: frozenset[str] = frozenset()


def _section(file: str, *uses: str) -> Section:
    return Section(file, frozenset(uses))


_CONTAINER = (
    _section("common/state"),
    _section("common/start"),
    _section("common/messages"),
    _section("containers/own_part", "code", *BASH_PARTS),
    _section("task/reports"),
    _section("task/commands"),
    _section("task/hooks", "hooks"),
    _section("task/secrets", "secrets"),
    _section("task/environment"),
    _section("task/gpus", "gpus"),
    _section("task/control_fifo"),
    _section("remote_exec/server"),
    _section("task/ranks", "native-mpi"),
    _section("task/slots", "slots"),
    _section("containers/container_side", *BASH_PARTS),
)
_TASK = (
    _section("containers/containers", *BASH_PARTS),
    *(_section(f"containers/{name}", name) for name in BASH_PARTS),
    _section("task/task"),
)
_FIRST_TASK = (
    _section("node/ports"),
    _section("node/more_ports", "more-ports"),
    _section("node/prepare"),
)
_BATCH = (
    _section("node/exit_rules"),
    _section("remote_exec/client"),
    _section("remote_exec/ssh"),
    _section("remote_exec/terminal"),
    _section("remote_exec/peer"),
    _section("node/infiniband", "infiniband"),
    _section("images/registry", "registry"),
    _section("images/images", "registry"),
    _section("images/cache", "registry"),
    *(_section(f"images/{name}", name) for name in BASH_PARTS),
    *(_section(f"plugins/{name}", f"plugin-{name}") for name in ("git", "ssh", "storages", "tensorboard")),
    _section("batch/state"),
    _section("batch/signals"),
    _section("batch/folder"),
    _section("batch/secrets", "secrets"),
    _section("batch/nodes"),
    _section("batch/gpu_gres", "gpu-gres"),
    _section("batch/environment"),
    _section("batch/peers"),
    _section("batch/many_tasks", "many-tasks", "slots"),
    _section("batch/hosts", *BASH_PARTS),
    _section("batch/code", "code"),
    _section("batch/infiniband", "infiniband"),
    _section("batch/steps"),
    _section("batch/shared_cores", "odd-cpus"),
    _section("batch/readiness"),
    _section("batch/barrier", "plugin-ssh"),
    _section("batch/supervise"),
    _section("batch/slots", "slots"),
    _section("batch/lost_tasks"),
    _section("batch/launches"),
    _section("batch/completion"),
    _section("batch/result"),
    _section("batch/monitor_step", "monitor-step"),
    _section("batch/exports", "export-env"),
    _section("batch/main"),
)
"""The runtime in its order: what a shell in a container needs, what all tasks need beyond that, what the first task
of a node needs, and what only the batch script and calls do. Functions come before their use; a dispatch comes after
each of the four."""
_USES = (section.uses for section in (*_CONTAINER, *_TASK, *_FIRST_TASK, *_BATCH))
_SHORT_REPORT = 900
"""The most characters that the ports of a task have in a report of one line; `report_ports` has the limit."""
ALL_USES = tuple(sorted(frozenset({"openpai-exit-rules"}).union(*_USES)))


def uses_of(plan: Plan) -> tuple[str, ...]:
    """Return which parts of the runtime a job needs beyond those of every job, by name, sorted."""
    container_runtime = CONTAINER_RUNTIMES.get(plan.containers.runtime)
    steps = [step for role in plan.roles for step in (*role.before, *role.after)]
    needed = {
        container_runtime.bash if container_runtime else "": True,
        "registry": plan.fetches_images and container_runtime is not None,
        "hooks": bool(steps) or bool(plan.times.debug_hold),
        "gpus": bool(plan.nodes.gpu_gres) or any(role.resources.gpus for role in plan.roles),
        "gpu-gres": bool(plan.nodes.gpu_gres),
        "more-ports": any(_has_more_ports(role) for role in plan.roles),
        "many-tasks": not plan.environment.exports_all_peers,
        "odd-cpus": any(_has_setting(role, plan, "ODD_CPUS") for role in plan.roles),
        "secrets": bool(plan.secrets),
        "native-mpi": any(role.mpi_world for role in plan.roles),
        "slots": not plan.gang,
        "infiniband": plan.checks_infiniband,
        "code": plan.stages_code or plan.environment.makes_output,
        "monitor-step": bool(plan.retry_policy.monitor_after),
        "export-env": plan.environment.exported is not None,
        "openpai-exit-rules": plan.exit_patterns == "original",
        **{f"plugin-{step.script.program}": True for step in steps if step.script.program},
    }
    return tuple(sorted(use for use, wanted in needed.items() if use and wanted))


def _has_setting(role: RolePlan, plan: Plan, name: str) -> bool:
    return any(setting.name == name for setting in role_settings(role, plan))


def _has_more_ports(role: RolePlan) -> bool:
    """Tell whether ports of a role are fixed, or too many for one line of a report."""
    longest = sum(len(f" {port.label}:") + port.count * len("65535,") for port in role.ports)
    return any(port.first for port in role.ports) or longest > _SHORT_REPORT


def program(name: str) -> str:
    """Return the bash of a runtime plugin: `templates/plugins/<name>.sh`."""
    return load(f"plugins/{name}.sh").rstrip("\n")


@cache
def runtime(uses: tuple[str, ...] = ()) -> ShellWord:
    """Return the runtime for a selection of uses, without its seal."""
    wanted = frozenset(uses)
    if unknown := wanted - frozenset(ALL_USES):
        raise ValueError(f"the runtime has no part for: {', '.join(sorted(unknown))}")
    container, task, first, batch = (_chosen(part, wanted) for part in (_CONTAINER, _TASK, _FIRST_TASK, _BATCH))
    enters = [_dispatch("container_dispatch")] if wanted.intersection(BASH_PARTS) else []
    return our_own(
        [
            "# Each part begins with a line of =. The job starts at the last one.",
            *_printed(container, wanted),
            *enters,
            *_printed(task, wanted),
            _dispatch("task_dispatch"),
            *_printed(first, wanted),
            _dispatch("first_task_dispatch"),
            *_printed(batch, wanted),
            _dispatch("dispatch"),
            "",
        ]
    )


def _chosen(sections: Iterable[Section], wanted: frozenset[str]) -> list[Section]:
    """Return the sections for some uses; only images of a registry are fetched."""
    return [
        section
        for section in sections
        if (not section.uses or section.uses & wanted)
        and not (section.file.startswith("images/") and "registry" not in wanted)
        and not (section.file == "images/cache" and wanted & BASH_WITH_STORE)
    ]


def _dispatch(name: str) -> str:
    return load(f"runtime/{name}.sh").rstrip("\n")


def _printed(sections: Iterable[Section], wanted: frozenset[str]) -> Iterator[str]:
    for section in sections:
        yield f"\n# ==== {section.file} ===="
        yield _text(section, wanted).rstrip("\n")


def _text(section: Section, wanted: frozenset[str]) -> str:
    text = _load(section)
    if section.file.startswith("plugins/"):
        return _program(section.file.partition("/")[2])
    if section.file == "common/start":
        return text + _set_defaults()
    if section.file == "node/exit_rules":
        return text + _exit_rules("original" if "openpai-exit-rules" in wanted else "fixed")
    return text


def _load(section: Section) -> str:
    return load(f"{'' if section.file.startswith('plugins/') else 'runtime/'}{section.file}.sh")


def _program(name: str) -> str:
    """Return the function that prints the bash of a runtime plugin, which runs after its settings in the task."""
    delimiter, text = here_document(program(name), "END_OF_PROGRAM")
    return f"program_of_{name}() {{\n  cat_stdin <<'{delimiter}'\n{text}\n{delimiter}\n}}\n"


def _set_defaults() -> str:
    """Return the function that gives settings which the head does not have their defaults."""
    lines = ["", "# What the head of the script does not say has its default.", "set_defaults() {", "  local role"]
    lines += [f"  PSL_{name}=${{PSL_{name}-{value}}}" for name, value in _defaults(OF_JOB)]
    lines += ["  PSL_MOUNTS+=()", '  for role in "${!PSL_ROLE_NAME[@]}"; do']
    lines += [f"    PSL_{name}[role]=${{PSL_{name}[role]-{value}}}" for name, value in _defaults(OF_ROLE)]
    return "\n".join([*lines, "  done", "}", ""])


def _defaults(rows: tuple[Row[Owner], ...]) -> Iterator[tuple[str, str]]:
    """Yield the settings that have a default, with its value as bash writes it."""
    return ((row.name, row.default) for row in rows if row.default is not None)


def _exit_rules(patterns: str) -> str:
    """Return the table of the exit specification. Source: PAI k8s-job-exit-spec."""
    rules = "\n".join(f"  {quote(rule.text)}" for rule in exit_rules(patterns))
    comment = "# Code, behaviour, exit status, and what the log must contain. The first match wins."
    return f"\n{comment}\nPSL_EXIT_RULES=(\n{rules}\n)\n"


def digest(text: str) -> str:
    """Return the SHA-256 of a part of a script, as `sha256sum` prints it."""
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


SEAL = "# ---- paislurm runtime "


def seal(head: str, body: str, version: str, uses: tuple[str, ...]) -> ShellWord:
    """Return the two lines between the head and the runtime: which runtime it is, and the head as it was compiled."""
    scope = "in every job" + (f" that uses: {', '.join(uses)}" if uses else "")
    return our_own(
        [
            f"{SEAL}{version}, sha256 {digest(body)}: the same {scope} ----",
            f"# ---- head as compiled, sha256 {digest(head)} ----",
            "",
        ]
    )

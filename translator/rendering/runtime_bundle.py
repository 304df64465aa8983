"""The runtime, the bash that jobs with the same features share, and its seal."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from ..exit_codes.table import exit_rules
from ..planning.settings.of_job import OF_JOB
from ..planning.settings.of_role import OF_ROLE
from ..site.containers import BASH_PARTS, BASH_WITH_STORE
from .engine import load
from .shell import here_document, our_own, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..planning.settings.setting import Owner, Row
    from .shell import ShellWord


class Section(Struct, frozen=True):
    """Hold a file of the runtime and the uses that require it; none: every job requires it."""

    file: str
    uses: frozenset[str] = frozenset()


def _section(file: str, *uses: str) -> Section:
    return Section(file, frozenset(uses))


_CONTAINED_RANKS = "contained-ranks"
"""The use of jobs that use both `native-mpi` and a container runtime."""
_CONTAINERS = "containers"
"""The use of jobs with any container runtime, for conditions of lines."""
_OF_PREFLIGHT = frozenset({"gpu-faults", "pairs"})
"""Uses that require `preflight`."""
_CONTAINER = (
    _section("common/state"),
    _section("common/start"),
    _section("common/messages"),
    _section("containers/own_part", "code", *BASH_PARTS),
    _section("task/reports"),
    _section("task/workdir", "workdir"),
    _section("task/progress", "progress"),
    _section("task/lost_nodes", "restarts"),
    _section("task/batch_node", "spare"),
    _section("task/commands"),
    _section("task/background", "background"),
    _section("task/hooks", "hooks"),
    _section("task/secrets", "secrets"),
    _section("task/environment"),
    _section("task/gpus", "gpus"),
    _section("task/nearest_gpus", "gpus"),
    _section("task/adapters", "infiniband"),
    _section("task/binding", "binding"),
    _section("task/control_fifo"),
    _section("remote_exec/server"),
    _section("task/ranks", "native-mpi"),
    _section("ranks/inside", _CONTAINED_RANKS),
    _section("task/slots", "slots"),
    _section("containers/container_side", *BASH_PARTS),
)
_TASK = (
    _section("containers/containers", *BASH_PARTS),
    _section("ranks/ranks", _CONTAINED_RANKS),
    *(_section(f"ranks/{name}", name) for name in BASH_PARTS),
    *(_section(f"containers/{name}", name) for name in BASH_PARTS),
    _section("task/task"),
)
_FIRST_TASK = (
    _section("node/ports"),
    _section("node/more_ports", "more-ports"),
    _section("node/prepare"),
)
_BATCH = (
    _section("common/replaceable"),
    _section("task/start_file"),
    _section("node/exit_rules"),
    _section("node/gpu_errors", "gpus"),
    _section("remote_exec/client"),
    _section("remote_exec/outside", *BASH_PARTS),
    _section("remote_exec/ssh_arguments"),
    _section("remote_exec/ssh"),
    _section("remote_exec/terminal"),
    _section("remote_exec/peer"),
    _section("node/infiniband", "infiniband"),
    _section("node/preflight", "preflight"),
    _section("node/gpu_faults", "gpu-faults"),
    _section("node/pairs", "pairs"),
    _section("node/evidence"),
    _section("node/frameworks", "progress"),
    _section("node/stall", "progress"),
    _section("images/registry", "registry"),
    _section("images/images", "registry"),
    _section("images/cache", "registry"),
    *(_section(f"images/{name}", name) for name in BASH_PARTS),
    *(_section(f"plugins/{name}", f"plugin-{name}") for name in ("git", "ssh", "storages", "tensorboard")),
    _section("batch/state"),
    _section("batch/signals"),
    _section("batch/waiting", "code", "infiniband", "preflight", "registry"),
    _section("batch/folder"),
    _section("batch/secrets", "secrets"),
    _section("batch/nodes"),
    _section("batch/gpu_gres", "gpu-gres"),
    _section("batch/environment"),
    _section("batch/peers"),
    _section("batch/hosts", *BASH_PARTS),
    _section("batch/code", "code"),
    _section("batch/infiniband", "infiniband"),
    _section("batch/compare_nodes", "infiniband"),
    _section("batch/steps"),
    _section("batch/shared_cores", "odd-cpus"),
    _section("batch/readiness"),
    _section("batch/barrier", "plugin-ssh"),
    _section("batch/event_blocks", "event-blocks"),
    _section("batch/supervise"),
    _section("batch/background", "background"),
    _section("batch/slots", "slots"),
    _section("batch/lost_tasks"),
    _section("batch/spare_nodes", "spare"),
    _section("batch/requeue", "requeue"),
    _section("batch/mismatches", "binding"),
    _section("batch/stalls", "progress"),
    _section("batch/launches"),
    _section("batch/node_steps", "infiniband", "preflight", "registry"),
    _section("batch/preflight", "preflight"),
    _section("batch/pairs", "pairs"),
    _section("batch/failed_hooks", "hooks"),
    _section("batch/completion"),
    _section("batch/successes", "min-succeeded"),
    _section("batch/checkpoints", "checkpoints"),
    _section("batch/result"),
    _section("batch/monitor_step", "monitor-step"),
    _section("batch/exports", "export-env"),
    _section("batch/main"),
)
"""The runtime in its order: what a shell in a container needs, what all tasks need beyond that, what the first task
of a node needs, and what only the batch script and calls do. Functions come before their use; a dispatch comes after
each of the four."""
_USES = (section.uses for section in (*_CONTAINER, *_TASK, *_FIRST_TASK, *_BATCH))
_NAME = re.compile(r"\bPSL_(\w+)")
_CONDITION = re.compile(r"(?m)^(?P<text>.*\S) +# (?P<when>only|unless): (?P<use>[\w-]+)\n")
"""A line that only the scripts with a use have, or those without it; all others keep every byte."""
ALL_USES = tuple(sorted(frozenset({"fixed-exit-rules"}).union(*_USES) - {_CONTAINED_RANKS}))


def program(name: str) -> str:
    """Return the bash of a runtime plugin: `templates/plugins/<name>.sh`."""
    return load(f"plugins/{name}.sh").rstrip("\n")


@cache
def runtime(uses: tuple[str, ...] = ()) -> ShellWord:
    """Return the runtime for a selection of uses, without its seal."""
    wanted = frozenset(uses)
    if unknown := wanted - frozenset(ALL_USES):
        raise ValueError(f"the runtime has no part for: {', '.join(sorted(unknown))}")
    if wanted.intersection(BASH_PARTS):
        wanted |= {_CONTAINERS, *({_CONTAINED_RANKS} if "native-mpi" in wanted else ())}
    if wanted & _OF_PREFLIGHT:
        wanted |= {"preflight"}
    container, task, first, batch = (_chosen(part, wanted) for part in (_CONTAINER, _TASK, _FIRST_TASK, _BATCH))
    of_tasks = _names((*container, *task, *first), wanted)
    enters = [_dispatch("container_dispatch")] if wanted.intersection(BASH_PARTS) else []
    return our_own(
        [
            "# A line of = begins each part. The job starts in the last part.",
            *_printed(container, wanted, of_tasks),
            *enters,
            *_printed(task, wanted, of_tasks),
            _dispatch("task_dispatch"),
            *_printed(first, wanted, of_tasks),
            _dispatch("first_task_dispatch"),
            *_printed(batch, wanted, _names(batch, wanted) - of_tasks),
            _chosen_lines(f"{_dispatch('dispatch')}\n", wanted),
        ]
    )


def _chosen(sections: Iterable[Section], wanted: frozenset[str]) -> list[Section]:
    """Return the sections for some uses; only images of a registry are fetched, and only some containers have ranks."""
    return [
        section
        for section in sections
        if (not section.uses or section.uses & wanted)
        and not (section.file.startswith("images/") and "registry" not in wanted)
        and not (section.file.startswith("ranks/") and _CONTAINED_RANKS not in wanted)
        and not (section.file == "images/cache" and wanted & BASH_WITH_STORE)
    ]


def _names(sections: Iterable[Section], wanted: frozenset[str]) -> frozenset[str]:
    """Return the settings that some sections read, and those that are the defaults of these."""
    names = frozenset(_NAME.findall("".join(_chosen_lines(_load(section), wanted) for section in sections)))
    defaults = (*_defaults(OF_JOB, names), *_defaults(OF_ROLE, names))
    return names.union(*(_NAME.findall(value) for _, value in defaults))


def _dispatch(name: str) -> str:
    return load(f"runtime/{name}.sh").rstrip("\n")


def _printed(sections: Iterable[Section], wanted: frozenset[str], names: frozenset[str]) -> Iterator[str]:
    for section in sections:
        yield f"\n# ==== {section.file} ===="
        yield _text(section, wanted, names).rstrip("\n")


def _text(section: Section, wanted: frozenset[str], names: frozenset[str]) -> str:
    text = _load(section)
    if section.file.startswith("plugins/"):
        return _program(section.file.partition("/")[2])
    if section.file in ("common/start", "batch/state"):
        return text + _set_defaults("set_defaults" if section.file == "common/start" else "set_batch_defaults", names)
    if section.file == "node/exit_rules":
        return text + _exit_rules("fixed" if "fixed-exit-rules" in wanted else "original")
    return _chosen_lines(text, wanted)


def _chosen_lines(text: str, wanted: frozenset[str]) -> str:
    """Return a text without the lines for other scripts, and the rest without its conditions."""

    def line(found: re.Match[str]) -> str:
        return f"{found['text']}\n" if (found["use"] in wanted) == (found["when"] == "only") else ""

    return _CONDITION.sub(line, text)


def _load(section: Section) -> str:
    return load(f"{'' if section.file.startswith('plugins/') else 'runtime/'}{section.file}.sh")


def _program(name: str) -> str:
    """Return the function that prints the bash of a runtime plugin, which runs after its settings in the task."""
    delimiter, text = here_document(program(name), "END_OF_PROGRAM")
    return f"program_of_{name}() {{\n  cat_stdin <<'{delimiter}'\n{text}\n{delimiter}\n}}\n"


def _set_defaults(function: str, names: frozenset[str]) -> str:
    """Return a function that sets settings missing in the head to their defaults, if some sections read them."""
    lines = [
        "",
        f"# {function}: set settings that the head of the script leaves out to their defaults.",
        f"{function}() {{",
        "  local role",
    ]
    lines += [f"  PSL_{name}=${{PSL_{name}-{value}}}" for name, value in _defaults(OF_JOB, names)]
    lines += ["  PSL_MOUNTS+=()"] if "MOUNTS" in names else []
    lines += ['  for role in "${!PSL_ROLE_NAME[@]}"; do']
    lines += [f"    PSL_{name}[role]=${{PSL_{name}[role]-{value}}}" for name, value in _defaults(OF_ROLE, names)]
    return "\n".join([*lines, "  done", "}", ""])


def _defaults(rows: tuple[Row[Owner], ...], names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings among some that have a default, with its value as bash writes it."""
    return ((row.name, row.default) for row in rows if row.default is not None and row.name in names)


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
    """Return the two lines between the head and the runtime: the digests of the runtime and of the compiled head."""
    scope = "in every job" + (f" that uses: {', '.join(uses)}" if uses else "")
    return our_own(
        [
            f"{SEAL}{version}, sha256 {digest(body)}: the same {scope} ----",
            f"# ---- head as compiled, sha256 {digest(head)} ----",
            "",
        ]
    )

"""Conversion of a job file from protocol v1 to v2.

What v2 cannot express goes under `extras.slurm.v1`, which paislurm reads. Every other difference becomes a warning and
a comment at the top of the file. Source: PAI rest-server, converter of protocol v1.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

from .errors import Diagnostic
from .job import NEVER
from .protocol.expressions.references import OPEN
from .protocol.v2.semantic_checks import MAX_CONTROLLER_NAME, controller_name
from .reading.document import SourceInt
from .reading.scalars import plain_value
from .rendering.shell import export

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .job import Job, Role

_PLAIN_SHELL = "set +e +u +o pipefail"
_EXTRAS_OF_V2 = frozenset(
    (
        "gangAllocation",
        "storages",
        "hivedScheduler",
        "jobStatusChangeNotification",
        "com.microsoft.pai.runtimeplugin",
    )
)
"""Keys under `extras` that protocol v1 only stored. Source: PAI protocol v2, extras."""
_SECRET = re.compile(OPEN + r"\s*\$secrets\b")
_JOB_NAME = re.compile(r"\$PAI_JOB_NAME(?!\w)", re.ASCII)
_DEFAULT_OUTPUT = "$PAI_DEFAULT_FS_URI/Output/$PAI_USER_NAME/$PAI_JOB_NAME"
_MAX_WIDTH = 1 << 30
"""Do not fold commands: one line of a command is one line of the file."""


def converted(job: Job, extras: Mapping[str, Any], *, source: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the job file of protocol v2, and a warning for each difference.

    `extras` are the extras of the v1 file; `source` is its name for the comment at the top.
    """
    return _Converter(job, extras).text(source)


class _Converter:
    """Build the file from the top; `_changed` collects its warnings, `_texts` its parameters."""

    def __init__(self, job: Job, extras: Mapping[str, Any]) -> None:
        self._job = job
        self._given = extras
        self._changed: list[Diagnostic] = []
        self._texts: dict[str, str] = {}
        self._keeps_unresolved = False
        self._names = _role_names(job.roles)
        self._labels = [_labels(role) for role in job.roles]

    def text(self, source: str) -> tuple[str, tuple[Diagnostic, ...]]:
        job = self._job
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", job.name)
        if name != job.name:
            self._change("W341", "$.jobName", f"the job `{job.name}` is called `{name}` in protocol v2")
            self._warn_of_paths(name)
        roles = {self._names[position]: self._role(position) for position in range(len(job.roles))}
        extras = self._extras()
        file = {
            "protocolVersion": 2,
            "name": name,
            "type": "job",
            "prerequisites": [{"type": "dockerimage", "name": "image", "uri": job.roles[0].image.uri}],
            "parameters": self._texts,
            "jobRetryCount": max(job.retry_limit, 0),
            "taskRoles": roles,
            "defaults": {"virtualCluster": job.virtual_cluster},
            "extras": extras,
        }
        kept = {key: value for key, value in file.items() if value or key == "jobRetryCount"}
        head = [f"Converted from {source}, a job file of PAI protocol v1.", *(each.message for each in self._changed)]
        comments = "".join("# " + "".join(c if c.isprintable() else " " for c in line) + "\n" for line in head)
        text = yaml.dump(kept, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_MAX_WIDTH)
        return comments + text, tuple(self._changed)

    def _warn_of_paths(self, name: str) -> None:
        """Warn of each path that contains the job's name, because the path changes with the name."""
        paths = self._job.directories
        if paths is None:
            return
        texts = {"data": paths.data, "output": paths.output or _DEFAULT_OUTPUT, "code": paths.code}
        named = {f"{kind}Dir": (f"PAI_{kind.upper()}_DIR", text) for kind, text in texts.items()}
        for key, (what, text) in {**named, "authFile": ("authFile", self._job.auth_file)}.items():
            if _JOB_NAME.search(text):
                self._change("W321", f"$.{key}", f"`{what}` moves: `{self._job.name}` is `{name}` in `{text}`")

    def _change(self, code: str, path: str, message: str) -> None:
        self._changed.append(Diagnostic(code=code, message=message, path=path))

    def _role(self, position: int) -> dict[str, Any]:
        role, name = self._job.roles[position], self._names[position]
        if name != role.name:
            path = f"$.taskRoles[{position}].name"
            self._change("W341", path, f"the role `{role.name}` is called `{name}` in protocol v2")
        resources, options = role.resources, {"shmMB": role.resources.shm_mib}
        if resources.infiniband:
            options["infiniband"] = True
        if not resources.declared_shm_mib:
            message = f"`shmMB: 0` of `{name}` becomes {resources.shm_mib}: 0 has another meaning in protocol v2"
            self._change("W341", f"$.taskRoles[{position}].shmMB", message)
        labels = self._labels[position]
        for label, new in labels.items():
            if new != label:
                path = f"$.taskRoles[{position}].portList"
                self._change("W341", path, f"the port label `{label}` of `{name}` is `{new}` in protocol v2")
        commands = [_PLAIN_SHELL, *(export(key, value) for key, value in self._job.variables), role.command.text]
        return {
            "instances": role.instances,
            "completion": {
                "minFailedInstances": role.completion.min_failed,
                "minSucceededInstances": role.completion.min_succeeded,
            },
            "dockerImage": "image",
            "extraContainerOptions": options,
            "resourcePerInstance": {
                "cpu": resources.cpus,
                "memoryMB": resources.memory_mib,
                "gpu": resources.gpus,
                "ports": {labels[port.label]: port.count for port in role.ports},
            },
            "commands": [self._literal(str(command), f"{name}_{number}") for number, command in enumerate(commands)],
        }

    def _literal(self, text: str, name: str) -> str:
        """Return the text as a command. Text with `<%` becomes a parameter, whose value is not expanded again."""
        if OPEN not in text:
            return text
        self._texts[name] = text
        self._keeps_unresolved = self._keeps_unresolved or _SECRET.search(text) is not None
        return f"<% $parameters.{name} %>"

    def _extras(self) -> dict[str, Any]:
        job, extras = self._job, dict(self._given)
        for key in sorted(_EXTRAS_OF_V2 & extras.keys()):
            value = json.dumps(extras.pop(key), ensure_ascii=False)
            message = f"removed `{key}`, which only protocol v2 gives a meaning: {value}"
            self._change("W342", f"$.extras.{key}", message)
        types = {
            name: {"skuType": role.node_type}
            for name, role in zip(self._names, job.roles, strict=True)
            if role.node_type
        }
        if types:
            extras["hivedScheduler"] = {"taskRoles": types}
        slurm = dict(extras.pop("slurm", None) or {})
        slurm.pop("v1", None)
        if slurm.get("taskRoles"):
            names = dict(zip((role.name for role in job.roles), self._names, strict=True))
            slurm["taskRoles"] = {names[name]: slurm_options for name, slurm_options in slurm["taskRoles"].items()}
        slurm["v1"] = self._only_v1()
        if job.debug_hold is not None:
            slurm["isDebug"] = slurm.get("isDebug") or True
        # A task of protocol v1 ends with its command.
        slurm["compat"] = {**(slurm.get("compat") or {}), "background": "stop"}
        if self._keeps_unresolved:
            # Protocol v1 has no secrets: a reference to one is plain text.
            slurm["compat"]["unresolved"] = "keep"
        return {**extras, "slurm": {key: value for key, value in slurm.items() if value != {}}}

    def _only_v1(self) -> dict[str, Any]:
        """Return the settings that protocol v2 cannot express."""
        job = self._job
        paths = job.directories
        fixed = {
            name: {labels[port.label]: port.first for port in role.ports if port.first}
            for name, role, labels in zip(self._names, job.roles, self._labels, strict=True)
        }
        table = {
            "retryCount": job.retry_limit if job.retry_limit < 0 else None,
            "killAllOnCompletedTaskNumber": job.min_succeeded if job.min_succeeded != NEVER else None,
            "jobEnvs": dict(job.program_variables) or None,
            "fixedPorts": {name: ports for name, ports in fixed.items() if ports} or None,
            "authFile": job.auth_file or None,
            "dataDir": (paths and paths.data) or None,
            # Keep an empty path: it selects the default.
            "outputDir": paths.output if paths else None,
            "codeDir": (paths and paths.code) or None,
        }
        return {key: value for key, value in table.items() if value is not None}


def _word(name: str) -> str:
    """Return the name with only the characters that v2 permits in names of roles and labels."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return word if word[:1].isalpha() or word[:1] == "_" else f"_{word}"


def _role_names(roles: Iterable[Role]) -> list[str]:
    """Return a name in protocol v2 for each role; the names differ also in the variables of tasks."""
    found: dict[str, str] = {}
    for position, role in enumerate(roles):
        name = _word(role.name)
        short = controller_name(name)
        if not short or len(short) > MAX_CONTROLLER_NAME or short in found:
            name = f"role{position}"
            while controller_name(name) in found:
                name += "x"
        found[controller_name(name)] = name
    return list(found.values())


def _labels(role: Role) -> dict[str, str]:
    """Return the port labels of a role, each with its label in protocol v2."""
    found = {port.label: port.label for port in role.ports if _word(port.label) == port.label}
    for port in role.ports:
        name = _word(port.label)
        while port.label not in found and name in found.values():
            name += "_"
        found.setdefault(port.label, name)
    return found


class _Dumper(yaml.SafeDumper):
    """Write YAML for the reader of job files, which differs slightly from PyYAML's."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write aliased values in full."""
        return True


_ODD = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters to escape: control characters, tabs, and line breaks other than a newline."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if isinstance(plain_value(text), str) else "'"
    if _ODD.search(text):
        style = '"'
    elif "\n" in text and text[0] not in " \n" and " \n" not in text and not text.endswith(" "):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_multi_representer(str, _write_text)
_Dumper.add_representer(str, _write_text)
_Dumper.add_representer(SourceInt, lambda dumper, number: dumper.represent_scalar("tag:yaml.org,2002:int", number.text))

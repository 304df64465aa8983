"""A job of protocol v1 as a job file of protocol v2, with nothing lost silently.

What v2 cannot say goes under `extras.slurm.v1`, which paislurm reads; what has to change is a comment at the top and a
warning. Source: PAI rest-server, converter of protocol v1; this project's docs for where it loses something.
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
_MEANT_BY_V2 = frozenset(
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
"""Commands are not folded: a line of them is a line of the file."""


def converted(job: Job, extras: Mapping[str, Any], *, source: str) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the job file of protocol v2, and warnings of what it says otherwise.

    `extras` are those of the file, and `source` is what the file is called in a comment.
    """
    return _Converter(job, extras).text(source)


class _Converter:
    """Build the file from the top; `_changed` and `_texts` gather what its end and its head say."""

    def __init__(self, job: Job, extras: Mapping[str, Any]) -> None:
        self._job = job
        self._given = extras
        self._changed: list[Diagnostic] = []
        self._texts: dict[str, str] = {}
        self._keeps = False
        self._names = _role_names(job.roles)
        self._labels = [_labels(role) for role in job.roles]

    def text(self, source: str) -> tuple[str, tuple[Diagnostic, ...]]:
        job = self._job
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", job.name)
        if name != job.name:
            self._change("W341", "$.jobName", f"the job `{job.name}` is called `{name}` in protocol v2")
            self._paths_move(name)
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

    def _paths_move(self, name: str) -> None:
        """Say which paths have the job's name in them, and so lead elsewhere under another one."""
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
            message = f"`shmMB: 0` of `{name}` is {resources.shm_mib} in protocol v2, where 0 is another size"
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
        """Return a command that is this text: one with `<%` in it is the value of a parameter, which is put in once."""
        if OPEN not in text:
            return text
        self._texts[name] = text
        self._keeps = self._keeps or _SECRET.search(text) is not None
        return f"<% $parameters.{name} %>"

    def _extras(self) -> dict[str, Any]:
        job, extras = self._job, dict(self._given)
        for key in sorted(_MEANT_BY_V2 & extras.keys()):
            value = json.dumps(extras.pop(key), ensure_ascii=False)
            message = f"left out, because it means something in protocol v2 and nothing in v1: `{key}`: {value}"
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
        if self._keeps:
            # Protocol v1 has no secrets, and a reference to one is text as any other.
            slurm["compat"] = {**(slurm.get("compat") or {}), "unresolved": "keep"}
        return {**extras, "slurm": {key: value for key, value in slurm.items() if value != {}}}

    def _only_v1(self) -> dict[str, Any]:
        """Return the table of what protocol v2 cannot say."""
        job = self._job
        paths = job.directories
        fixed = {
            name: {labels[port.label]: port.first for port in role.ports if port.first}
            for name, role, labels in zip(self._names, job.roles, self._labels, strict=True)
        }
        table = {
            "retryCount": job.retry_limit if job.retry_limit < 0 else None,
            "killAllOnCompletedTaskNumber": job.min_succeeded if job.min_succeeded != NEVER else None,
            "fixedPorts": {name: ports for name, ports in fixed.items() if ports} or None,
            "authFile": job.auth_file or None,
            "dataDir": (paths and paths.data) or None,
            # Even if it is empty: the default one is meant.
            "outputDir": paths.output if paths else None,
            "codeDir": (paths and paths.code) or None,
        }
        return {key: value for key, value in table.items() if value is not None}


def _word(name: str) -> str:
    """Return a name as protocol v2 has names of roles and labels."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return word if word[:1].isalpha() or word[:1] == "_" else f"_{word}"


def _role_names(roles: Iterable[Role]) -> list[str]:
    """Return the names of roles in protocol v2, which its variables can tell apart."""
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
    """Return what the port labels of a role are in protocol v2."""
    found = {port.label: port.label for port in role.ports if _word(port.label) == port.label}
    for port in role.ports:
        name = _word(port.label)
        while port.label not in found and name in found.values():
            name += "_"
        found.setdefault(port.label, name)
    return found


class _Dumper(yaml.SafeDumper):
    """Write YAML as the reader of job files takes it, which is not quite what PyYAML takes it for."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Write everything out."""
        return True


_ODD = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""What has to be escaped: control characters, tabs, and line breaks of other kinds."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if isinstance(plain_value(text), str) else "'"
    if _ODD.search(text):
        style = '"'
    elif "\n" in text and text[0] not in " \n" and " \n" not in text and not text.endswith(" "):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _write_as_written(dumper: yaml.SafeDumper, number: SourceInt) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:int", number.text)


_Dumper.add_multi_representer(str, _write_text)
_Dumper.add_representer(str, _write_text)
_Dumper.add_representer(SourceInt, _write_as_written)

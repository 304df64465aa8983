"""The runtime plugins: the parameters of each become the scripts that it runs.

Source: PAI runtime, plugins; PAI issue 5145 for `containerStart` and `containerExit`.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ...job import Script
from ...validation.strict_model import LAST_PORT, integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...job import Phase
    from ...reading.document import Path, Value
    from ..expressions.command_builder import RoleContext

EVENTS: dict[str, Phase] = {
    "taskStarts": "start",
    "taskSucceeds": "success",
    "containerStart": "start",
    "containerExit": "exit",
}
"""The events of callbacks, and when they are. Source: PAI runtime, plugin cmd; PAI issue 5145."""
_PHASES: tuple[Phase, ...] = ("start", "success", "exit")
_BARRIER_MINUTES = 30
"""How long a barrier waits by default. Source: PAI runtime, README of the plugin ssh."""


def scripts(
    plugin: str, path: Path, parameters: Mapping[str, Value], role: str, context: RoleContext
) -> tuple[Script, ...]:
    """Return what a plugin runs around the commands of a role; `path` is where its parameters stand.

    Parameters that it cannot use become faults.
    """
    return _PLUGINS[plugin](path, parameters, role, context)


def _cmd(path: Path, parameters: Mapping[str, Value], _role: str, context: RoleContext) -> tuple[Script, ...]:
    """Commands at events, in either of two forms."""
    items: dict[Phase, list[tuple[Path, str]]] = {phase: [] for phase in _PHASES}
    lists: tuple[tuple[str, Phase], ...] = (("preCommands", "start"), ("postCommands", "success"))
    for key, phase in lists:
        if parameters.get(key) and parameters.get("callbacks"):
            message = f"`{key}` and `callbacks` are two ways of saying the same, of which one can be used"
            hint = "make it a callback: `preCommands` are the event taskStarts, `postCommands` taskSucceeds"
            context.collector.add("E316", (*path, key), message, hint=hint, key=True)
        items[phase] += _texts((*path, key), parameters.get(key), context)
    for where, callback in _callbacks((*path, "callbacks"), parameters.get("callbacks"), context):
        event = callback.get("event")
        if isinstance(event, str) and event in EVENTS:
            items[EVENTS[event]] += _texts((*where, "commands"), callback.get("commands"), context)
        elif isinstance(event, str):
            message = f"there is no event `{event}`"
            context.collector.add("E315", (*where, "event"), message, near=(event, EVENTS))
        else:
            context.collector.add("E202", (*where, "event"), "`event` is missing", hint=f"one of {', '.join(EVENTS)}")
    made = [(phase, context.commands(found)) for phase, found in items.items() if found]
    return tuple(Script(phase=phase, text=each.text, lines=each.lines) for phase, each in made if each.text)


def _git(path: Path, parameters: Mapping[str, Value], _role: str, context: RoleContext) -> tuple[Script, ...]:
    """A clone of a repository before the commands."""
    uri = _text((*path, "repo_uri"), parameters.get("repo_uri"), context)
    if not uri:
        hint = "name the repository: `repo_uri: https://...`"
        context.collector.add("E202", (*path, "repo_uri"), "`repo_uri` is missing", hint=hint)
    options = [
        word
        for where, option in _texts((*path, "options"), parameters.get("options"), context)
        for word in _words(where, context.commands([(where, option)]).text, context)
    ]
    directory = _text((*path, "clone_dir"), parameters.get("clone_dir"), context)
    if not directory:
        message = "without `clone_dir` the clone is `code` in the task's working directory, not /usr/local/pai/code"
        context.collector.add("W313", path, message, hint="name one: `clone_dir: code`")
    settings = (("REPOSITORY", uri), ("OPTIONS", "\n".join(options)), ("DIRECTORY", directory or "code"))
    return (Script(phase="start", program="git", settings=settings),)


def _tensorboard(path: Path, parameters: Mapping[str, Value], role: str, context: RoleContext) -> tuple[Script, ...]:
    """A TensorBoard beside the first task of the first role; without parameters it is none, as on OpenPAI."""
    if not parameters:
        return ()
    port = context.resolved((*path, "port"), parameters.get("port"))
    number = int(port) if isinstance(port, str) and port.isdecimal() else integer(port)
    if number is None or not 0 < number <= LAST_PORT:
        context.collector.add("E203", (*path, "port"), f"expected a port from 1 to {LAST_PORT}")
    folders = context.resolved((*path, "logdir"), parameters.get("logdir"))
    if not (isinstance(folders, dict) and folders and all(isinstance(each, str) for each in folders.values())):
        hint = "`logdir: {train: /mnt/tensorboard}`"
        context.collector.add("E203", (*path, "logdir"), "expected a mapping of names to folders", hint=hint)
        folders = {}
    if role != next(iter(context.document.mapping(("taskRoles",)))):
        return ()
    named = ",".join(f"{name}:{folder}" for name, folder in folders.items())
    only = str(next(iter(folders.values()))) if len(folders) == 1 else ""
    settings = (("PORT", str(number)), ("NAMED_FOLDERS", named), ("ONLY_FOLDER", only))
    return (Script(phase="start", program="tensorboard", settings=settings),)


def _ssh(path: Path, parameters: Mapping[str, Value], _role: str, context: RoleContext) -> tuple[Script, ...]:
    """A barrier of all tasks, before the commands; that tasks reach each other needs no plugin here."""
    collector = context.collector
    job_ssh, barrier = (_switch((*path, key), parameters.get(key, False), context) for key in ("jobssh", "sshbarrier"))
    minutes = parameters.get("sshbarrierTimeout", _BARRIER_MINUTES)
    number = integer(minutes)
    if number is None or number < 1:
        collector.add("E203", (*path, "sshbarrierTimeout"), "expected a whole number of minutes, 1 or more", key=True)
    user = parameters.get("userssh")
    if isinstance(user, dict) and user.get("type") in ("custom", "system"):
        message = "no daemon waits for your key in the tasks: the job runs, and `userssh` does nothing"
        hint = "`paislurm exec JOB ROLE-INDEX` opens a shell in a task"
        collector.add("W314", (*path, "userssh"), message, hint=hint, key=True)
    if not (job_ssh and barrier):
        return ()
    if context.document.at(("extras", "gangAllocation")) is False:
        message = "without gang allocation tasks need not run at the same time, so none waits for the others"
        collector.add("W315", (*path, "sshbarrier"), message, key=True)
        return ()
    return (Script(phase="start", program="ssh", settings=(("BARRIER_SECONDS", str(60 * (number or 0))),)),)


def _switch(path: Path, value: Value, context: RoleContext) -> bool:
    """Tell whether a switch is true, or the text of it in any case. Source: PAI runtime, plugin ssh."""
    value = context.resolved(path, value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        context.collector.add("E203", path, "expected true or false", key=True)
    return value is True


def _nothing(_path: Path, _parameters: Mapping[str, Value], _role: str, _context: RoleContext) -> tuple[Script, ...]:
    """A plugin that runs nothing in the task."""
    return ()


_PLUGINS: dict[str, Callable[[Path, Mapping[str, Value], str, RoleContext], tuple[Script, ...]]] = {
    "cmd": _cmd,
    "git": _git,
    "tensorboard": _tensorboard,
    "teamwise_storage": _nothing,
    "ssh": _ssh,
}
PLUGIN_NAMES = tuple(_PLUGINS)
"""The plugins of openpai-runtime."""


def _words(path: Path, option: str, context: RoleContext) -> list[str]:
    """Return the words of an option as a shell reads them; OpenPAI put it into a command line as it stood."""
    try:
        return shlex.split(option)
    except ValueError:
        context.collector.add("E203", path, "expected an option of `git clone`, found a quote without its pair")
        return []


def _text(path: Path, value: Value, context: RoleContext) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        context.collector.add("E203", path, "expected text")
        return ""
    return context.commands([(path, value)]).text


def _texts(path: Path, value: Value, context: RoleContext) -> list[tuple[Path, str]]:
    """Return the texts of a list, each with its path; a fault for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        hint = "write it as a list, each item on a line of its own: `- item`"
        context.collector.add("E203", path, "expected a list of texts", hint=hint, key=True)
        return []
    for number, item in enumerate(value):
        if not isinstance(item, str):
            hint = (
                "text that contains `: ` needs quotes around all of it"
                if isinstance(item, dict)
                else "put it in quotes"
            )
            context.collector.add("E203", (*path, number), "expected text", hint=hint)
    return [((*path, number), item) for number, item in enumerate(value) if isinstance(item, str)]


def _callbacks(path: Path, value: Value, context: RoleContext) -> list[tuple[Path, Mapping[str, Value]]]:
    """Return the callbacks of a list, each with its path; a fault for anything else."""
    items = value if isinstance(value, list) else []
    if value is not None and not (isinstance(value, list) and all(isinstance(item, dict) for item in items)):
        hint = "`callbacks: [{event: taskStarts, commands: [...]}]`"
        context.collector.add("E203", path, "expected a list of callbacks", hint=hint, key=True)
    return [((*path, number), item) for number, item in enumerate(items) if isinstance(item, dict)]

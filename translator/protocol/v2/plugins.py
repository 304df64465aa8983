"""The runtime plugins: the parameters of each become the scripts that it runs.

Their models are imported where one is needed: most jobs use no plugin.

Source: PAI runtime, plugins; PAI issue 5145 for `containerStart` and `containerExit`.
"""

from __future__ import annotations

import shlex
from types import NoneType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from ...job import Script
from ...validation.partial_model import placed
from ...validation.schema_errors import parse_model
from ..wording import WORDING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...job import Phase
    from ...reading.document import Path, Value
    from ...validation.diagnostics import DiagnosticCollector
    from ..expressions.command_builder import RoleContext
    from .plugin_parameters import PluginParameters
    from .schema import JobFile

_Parameters = TypeVar("_Parameters", bound="PluginParameters")
EVENTS: dict[str, Phase] = {
    "taskStarts": "start",
    "taskSucceeds": "success",
    "taskFails": "failure",
    "containerStart": "start",
    "containerExit": "exit",
}
"""The events of callbacks, and when they are.

Source: PAI runtime, plugin cmd; PAI issue 5145, which also wants actions after a failure: `taskFails` is our word.
"""


class PluginUse(Struct, frozen=True, kw_only=True):
    """Hold what a plugin is given in a role: its parameters as they stand at `path`, which may be wrong.

    `inherited` returns what a parameter that it lacks is in the prerequisites that it requires, and where.
    """

    path: Path
    parameters: Mapping[str, Value]
    role: str
    file: JobFile
    context: RoleContext
    inherited: Callable[[str], tuple[Path, Value] | None] = lambda _: None

    @property
    def collector(self) -> DiagnosticCollector:
        """Return where the faults of the parameters go."""
        return self.context.collector

    def read(self, model: type[_Parameters]) -> _Parameters:
        """Return the parameters as a model, a partial one where they are wrong."""
        values = {
            key: self.context.resolved((*self.path, key), value) if key in model.RESOLVED else value
            for key, value in self.parameters.items()
        }
        return parse_model(model, self.collector, wording=WORDING, inside=(self.path, values))

    def text(self, key: str, value: str | None) -> str:
        """Return the text of a parameter with its references resolved, "" for none."""
        return "" if value is None else self.context.commands([((*self.path, key), value)]).text


def scripts(plugin: str, use: PluginUse) -> tuple[Script, ...]:
    """Return what a plugin runs around the commands of a role; parameters that it cannot use become faults."""
    return _PLUGINS[plugin](use)


def _cmd(use: PluginUse) -> tuple[Script, ...]:
    """Commands at events, in either of two forms."""
    from .plugin_parameters import Cmd

    wanted = use.read(Cmd)
    items: dict[Phase, list[tuple[Path, str]]] = {phase: [] for phase in EVENTS.values()}
    lists: tuple[tuple[str, Phase, list[str] | None], ...] = (
        ("preCommands", "start", wanted.pre_commands),
        ("postCommands", "success", wanted.post_commands),
    )
    for key, phase, commands in lists:
        if commands and wanted.callbacks:
            message = f"`{key}` and `callbacks` are two ways of saying the same, of which one can be used"
            hint = "make it a callback: `preCommands` are the event taskStarts, `postCommands` taskSucceeds"
            use.collector.add("E316", (*use.path, key), message, hint=hint, key=True)
        items[phase] += placed((*use.path, key), commands)
    for where, callback in placed((*use.path, "callbacks"), wanted.callbacks):
        event = callback.event
        if isinstance(event, str) and event in EVENTS:
            items[EVENTS[event]] += placed((*where, "commands"), callback.commands)
        elif isinstance(event, str):
            message = f"there is no event `{event}`"
            use.collector.add("E315", (*where, "event"), message, near=(event, EVENTS))
        else:
            use.collector.add("E202", (*where, "event"), "`event` is missing", hint=f"one of {', '.join(EVENTS)}")
    made = [(phase, use.context.commands(found)) for phase, found in items.items() if found]
    return tuple(Script(phase=phase, text=each.text, lines=each.lines) for phase, each in made if each.text)


def _git(use: PluginUse) -> tuple[Script, ...]:
    """A clone of a repository before the commands."""
    from .plugin_parameters import Git

    wanted = use.read(Git)
    uri = use.text("repo_uri", wanted.repo_uri)
    if not uri and isinstance(use.parameters.get("repo_uri", ""), (str, NoneType)):  # else it has its fault already
        hint = "name the repository: `repo_uri: https://...`"
        use.collector.add("E202", (*use.path, "repo_uri"), "`repo_uri` is missing", hint=hint)
    options = [
        word
        for where, option in placed((*use.path, "options"), wanted.options)
        for word in _words(where, use.context.commands([(where, option)]).text, use.collector)
    ]
    directory = use.text("clone_dir", wanted.clone_dir)
    if not directory:
        message = "without `clone_dir` the clone is `code` in the task's working directory, not /usr/local/pai/code"
        use.collector.add("W313", use.path, message, hint="name one: `clone_dir: code`")
    settings = (("REPOSITORY", uri), ("OPTIONS", "\n".join(options)), ("DIRECTORY", directory or "code"))
    return (Script(phase="start", program="git", settings=settings),)


def _tensorboard(use: PluginUse) -> tuple[Script, ...]:
    """A TensorBoard beside the first task of the first role; without parameters it is none, as on OpenPAI."""
    if not use.parameters:
        return ()
    from .plugin_parameters import Tensorboard

    wanted = use.read(Tensorboard)
    if use.role != next(iter(use.file.task_roles)):
        return ()
    folders = wanted.logdir or {}
    named = ",".join(f"{name}:{folder}" for name, folder in folders.items())
    only = next(iter(folders.values())) if len(folders) == 1 else ""
    settings = (("PORT", str(wanted.port)), ("NAMED_FOLDERS", named), ("ONLY_FOLDER", only))
    return (Script(phase="start", program="tensorboard", settings=settings),)


def _ssh(use: PluginUse) -> tuple[Script, ...]:
    """A barrier of all tasks, before the commands; that tasks reach each other needs no plugin here."""
    from .plugin_parameters import Ssh

    wanted = use.read(Ssh)
    user = wanted.userssh
    if isinstance(user, dict) and user.get("type") in ("custom", "system"):
        message = "no daemon waits for your key in the tasks: the job runs, and `userssh` does nothing"
        hint = "`paislurm exec JOB ROLE-INDEX` opens a shell in a task"
        use.collector.add("W314", (*use.path, "userssh"), message, hint=hint, key=True)
    if not (wanted.jobssh and wanted.sshbarrier):
        return ()
    if not use.file.extras.gang_allocation:
        message = "without gang allocation tasks need not run at the same time, so none waits for the others"
        use.collector.add("W315", (*use.path, "sshbarrier"), message, hint="leave `sshbarrier` out", key=True)
        return ()
    seconds = 60 * (wanted.sshbarrier_timeout or 0)
    return (Script(phase="start", program="ssh", settings=(("BARRIER_SECONDS", str(seconds)),)),)


def _nothing(_use: PluginUse) -> tuple[Script, ...]:
    """A plugin that runs nothing in the task."""
    return ()


_PLUGINS: dict[str, Callable[[PluginUse], tuple[Script, ...]]] = {
    "cmd": _cmd,
    "git": _git,
    "tensorboard": _tensorboard,
    "teamwise_storage": _nothing,
    "ssh": _ssh,
}
PLUGIN_NAMES = tuple(_PLUGINS)
"""The plugins of openpai-runtime."""


def _words(path: Path, option: str, collector: DiagnosticCollector) -> list[str]:
    """Return the words of an option as a shell reads them; OpenPAI put it into a command line as it stood."""
    try:
        return shlex.split(option)
    except ValueError:
        collector.add("E203", path, "expected an option of `git clone`, found a quote without its pair")
        return []

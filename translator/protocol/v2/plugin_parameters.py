"""The parameters of the runtime plugins, as OpenPAI's runtime read them; other keys are ignored.

Commands still contain their references; `RESOLVED` are the keys with resolved references.
Source: PAI runtime, plugins; PAI issue 5145 for `containerStart` and `containerExit`.
"""

# ruff: noqa: RUF012 - nothing modifies the defaults
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field

from ...validation.strict_model import LAST_PORT, OpenModel, Validator, expected, integer

_BARRIER_MINUTES = 30
"""The default timeout of a barrier. Source: PAI runtime, README of the plugin ssh."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise expected("text", bare=True)
    return value


def _item(value: object) -> str:
    if not isinstance(value, str):
        colon = "put text that contains `: ` in quotes"
        raise expected("text", colon if isinstance(value, dict) else "add quotes", bare=True)
    return value


def _list(value: object) -> object:
    if value is not None and not isinstance(value, list):
        hint = "write it as a list, one item per line: `- item`"
        raise expected("a list of texts", hint, bare=True, key=True)
    return value


def _mappings(value: object) -> object:
    if value is not None and not (isinstance(value, list) and all(isinstance(item, dict) for item in value)):
        hint = "`callbacks: [{event: taskStarts, commands: [...]}]`"
        raise expected("a list of callbacks", hint, bare=True, key=True)
    return value


def _port(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else integer(value)
    if number is None or not 0 < number <= LAST_PORT:
        raise expected(f"a port from 1 to {LAST_PORT}", "`port: 12000`", bare=True)
    return number


def _folders(value: object) -> dict[str, str]:
    if not (isinstance(value, dict) and value and all(isinstance(each, str) for each in value.values())):
        raise expected("a mapping of names to folders", "`logdir: {train: /mnt/tensorboard}`", bare=True)
    return value


def _switch(value: object) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise expected("true or false", bare=True, key=True)
    return value


def _minutes(value: object) -> int:
    number = integer(value)
    if number is None or number < 1:
        raise expected("a whole number of minutes, 1 or more", bare=True, key=True)
    return number


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


_Text = Annotated[str, Validator(_text, {})]
_Texts = Annotated[list[Annotated[str, Validator(_item, {})]] | None, BeforeValidator(_list)]
_Switch = Annotated[bool, Validator(_switch, {})]
"""True or false, or its text in any case. Source: PAI runtime, plugin ssh."""


class PluginParameters(OpenModel):
    """The parameters of a plugin."""

    RESOLVED: ClassVar[tuple[str, ...]] = ()


class _SnakeCase(PluginParameters):
    """Parameters whose keys are the names of the fields."""

    model_config = ConfigDict(alias_generator=None)


class Callback(OpenModel):
    """Commands at an event."""

    event: Any = None
    commands: _Texts = None


class Cmd(PluginParameters):
    """Commands at events, in either of two forms."""

    pre_commands: _Texts = None
    post_commands: _Texts = None
    callbacks: Annotated[list[Callback] | None, BeforeValidator(_mappings)] = None


class Git(_SnakeCase):
    """A clone of a repository; the site chooses its folder if none is given."""

    repo_uri: _Text | None = None
    options: _Texts = None
    clone_dir: _Text | None = None


class Tensorboard(_SnakeCase):
    """A TensorBoard on a port, for named folders."""

    RESOLVED = ("port", "logdir")
    port: Annotated[int | None, Validator(_port, {}), Field(validate_default=True)] = None
    logdir: Annotated[dict[str, str] | None, Validator(_folders, {}), Field(validate_default=True)] = None


class TeamwiseStorage(PluginParameters):
    """Storages of the site by name; other values are ignored. Source: PAI rest-server."""

    storage_config_names: Annotated[list[str], Validator(_names, {})] = []


class Ssh(_SnakeCase):
    """Connections between tasks, and an optional barrier with its timeout in minutes."""

    RESOLVED = ("jobssh", "sshbarrier")
    jobssh: _Switch = False
    sshbarrier: _Switch = False
    sshbarrier_timeout: Annotated[int, Validator(_minutes, {}), Field(alias="sshbarrierTimeout")] = _BARRIER_MINUTES
    userssh: Any = None

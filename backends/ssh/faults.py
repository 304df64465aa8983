"""The errors of connections to login nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from paislurm.translator.errors import Diagnostic, RejectedError, UnreachableError

if TYPE_CHECKING:
    from .transport import Address

_UNKNOWN_KEY = re.compile(r"host key is known for|Host key verification failed")
_OTHER_KEY = re.compile(r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed")
_REFUSED = re.compile(r"Permission denied \(|Too many authentication failures|No more authentication methods")
_NOT_REACHED = re.compile(
    r"Could not resolve hostname|Connection refused|Connection timed out|No route to host|Network is unreachable"
    r"|Operation timed out|kex_exchange_identification|banner exchange|Bad configuration option|UNKNOWN port 65535"
)
"""Messages of ssh before a connection exists. Source: OpenSSH 9.2, observed."""
NOT_WRITTEN = re.compile(r"^(?:remote|dest|write|chmod|stat).*(?:Failure|denied|No such|[Qq]uota|space)", re.MULTILINE)
"""Messages of sftp for a file that it cannot write; for a full disk, its protocol reports only a failure."""


def not_reached(address: Address, words: str) -> UnreachableError:
    """Return the error for a login node that does not respond."""
    return _error("E550", f"{address} cannot be reached: {_last(words)}", f"run `{address.command}` for details")


def unknown_key(address: Address, line: str, fingerprint: str) -> UnreachableError:
    """Return the error for a host with an unknown key; `line` is its line for known_hosts, "" if not known."""
    if not line:
        hint = f"run `{address.command}` to see the key, and compare it with the one that your site publishes"
        return _error("E551", f"the host key of {address} is not in known_hosts", hint)
    hint = f"compare it with the key that your site publishes, then add this line to ~/.ssh/known_hosts: {line}"
    return _error("E551", f"the host key of {address} is not in known_hosts; the host's key is {fingerprint}", hint)


def other_key(address: Address) -> UnreachableError:
    """Return the error for a host whose key differs from that in known_hosts."""
    message = f"the host key of {address} differs from that in known_hosts: it may be another machine"
    hint = f"ask your site; if the host has a new key, remove the old one: `ssh-keygen -R {address.host}`"
    return _error("E552", message, hint)


def login_refused(address: Address, words: str, *, command: str) -> UnreachableError:
    """Return the error for a refused login; `command` opens a connection that paislurm can share."""
    hint = (
        "check the keys in ~/.ssh and the agent (`ssh-add -l`); for a password or a second factor, open a connection "
        f"with `{command}`, which paislurm shares unless its transport is fabric"
    )
    return _error("E553", f"{address} refuses the login: {_last(words)}", hint)


def missing(address: Address, program: str) -> UnreachableError:
    """Return the error for a program that is not on the remote PATH."""
    hint = f"add it to the PATH of a login shell; check with `{address.command} bash -lc 'type {program}'`"
    return _error("E501", f"`{program}` is not on PATH at {address}", hint)


def forbidden(address: Address, program: str) -> UnreachableError:
    """Return the error for a remote program that the user may not execute."""
    hint = "ask the site which users may run it, and on which machines"
    return _error("E501", f"`{program}` at {address} cannot be executed: permission denied", hint)


def not_kept(error: OSError) -> UnreachableError:
    """Return the error for fetched files that cannot be written here."""
    message = f"a file from the login node cannot be written: {error.filename or ''} {error.strerror}"
    return _error("E502", message, "free space in PAISLURM_HOME")


def not_written(address: Address, words: str) -> RejectedError:
    """Return the error for files that the login node does not accept: a full disk, a quota or permissions."""
    hint = "check `df -h ~`, `df -i ~` and `quota` on the login node; remove old jobs below its ~/.paislurm/remote"
    message = f"the files of the job cannot be written at {address}: {_last(words)}"
    return RejectedError(Diagnostic(code="E510", message=message, hint=hint))


def no_answer(address: Address) -> UnreachableError:
    """Return the error for invalid output of the query for the remote folder of jobs."""
    hint = f"check what the shell profiles print: `{address.command} true` must print nothing"
    return _error("E543", f"{address} printed invalid output for the folder for jobs", hint)


def start_file(address: Address, files: str, words: str) -> UnreachableError:
    """Return the error for a start file after which no command runs; `words` is what it printed."""
    said = f": {_last(words)[:300]}" if words.strip() else ""
    message = f"a start file at {address} ({files}) ended or replaced the shell, read its input, or hangs{said}"
    hint = f"let it do so only if `[[ $- == *i* ]]`; `{address.command} \"bash -lc 'echo in'\"` must print `in`"
    return _error("E543", message, hint)


def broken(address: Address, what: str) -> UnreachableError:
    """Return the error for a connection that broke or timed out: the command may have been executed."""
    message = f"the connection to {address} broke; `{what}` may or may not have been executed"
    return _error("E502", message, "try again: nothing is lost, and no job is submitted twice")


def of_words(address: Address, words: str, *, command: str) -> UnreachableError | None:
    """Return the error for the messages of `ssh`, None if a connection may have existed."""
    if _OTHER_KEY.search(words):
        return other_key(address)
    if _UNKNOWN_KEY.search(words):
        return unknown_key(address, "", "")
    if _REFUSED.search(words):
        return login_refused(address, words, command=command)
    return not_reached(address, words) if _NOT_REACHED.search(words) else None


def _last(words: str) -> str:
    """Return the last line that is not blank."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def _error(code: str, message: str, hint: str) -> UnreachableError:
    return UnreachableError(Diagnostic(code=code, message=message, hint=hint))

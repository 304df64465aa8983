"""What can keep one from a login node, in words."""

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
"""What ssh says before there is a connection. Source: OpenSSH 9.2, observed."""
NOT_WRITTEN = re.compile(r"^(?:remote|dest|write|chmod|stat).*(?:Failure|denied|No such|[Qq]uota|space)", re.MULTILINE)
"""What sftp says of a file that is not taken; of a full disk its protocol knows no more than a failure."""


def not_reached(address: Address, words: str) -> UnreachableError:
    """Return the error for a login node that does not answer."""
    return _error("E550", f"{address} cannot be reached: {_last(words)}", f"`{address.command}` says more")


def unknown_key(address: Address, line: str, fingerprint: str) -> UnreachableError:
    """Return the error for a host of which no key is known; `line` is what known_hosts would have, "" if not known."""
    if not line:
        hint = f"`{address.command}` shows its key: compare it with what your site publishes"
        return _error("E551", f"the host key of {address} is not known", hint)
    hint = f"compare that with what your site publishes, then add this line to ~/.ssh/known_hosts: {line}"
    return _error("E551", f"the host key of {address} is not known; the host shows {fingerprint}", hint)


def other_key(address: Address) -> UnreachableError:
    """Return the error for a host that shows another key than before."""
    message = f"{address} shows another host key than known_hosts has: it may be another machine"
    hint = f"ask your site; if the host has a new key, `ssh-keygen -R {address.host}` removes the old one"
    return _error("E552", message, hint)


def login_refused(address: Address, words: str, *, command: str) -> UnreachableError:
    """Return the error for a login that was refused; `command` opens a connection that can be shared."""
    hint = (
        "keys come from ~/.ssh and the agent (`ssh-add -l`); a password or a second factor is for you to type: "
        f"`{command}` opens a connection, which paislurm uses unless its transport is fabric"
    )
    return _error("E553", f"{address} refuses the login: {_last(words)}", hint)


def missing(address: Address, program: str) -> UnreachableError:
    """Return the error for a program that is not there on PATH."""
    hint = f"a login shell there must have it on PATH: `{address.command} bash -lc 'type {program}'`"
    return _error("E501", f"there is no `{program}` at {address}", hint)


def forbidden(address: Address, program: str) -> UnreachableError:
    """Return the error for a program that the user may not call there."""
    hint = "ask the site whether its users may call it, and from where"
    return _error("E501", f"you may not call `{program}` at {address}: permission denied", hint)


def not_kept(error: OSError) -> UnreachableError:
    """Return the error for what has come from there and cannot be written here."""
    message = f"what came from the login node cannot be written: {error.filename or ''} {error.strerror}"
    return _error("E502", message, "make room in PAISLURM_HOME")


def not_written(address: Address, words: str) -> RejectedError:
    """Return the error for files that the login node does not take: its disk or a quota is full, or it forbids them."""
    hint = "remove old jobs there, below ~/.paislurm/remote, or ask `df -h ~`, `df -i ~` and `quota` what is full"
    message = f"the files of the job cannot be written at {address}: {_last(words)}"
    return RejectedError(Diagnostic(code="E510", message=message, hint=hint))


def no_answer(address: Address, asked: str) -> UnreachableError:
    """Return the error for an answer that makes no sense."""
    hint = f"`{address.command} true` is to print nothing of its own: see what the profiles of a shell print there"
    return _error("E543", f"{address} was asked {asked}, and what it printed is no answer", hint)


def broken(address: Address, what: str) -> UnreachableError:
    """Return the error for a connection that broke or fell silent: what was asked may have been done."""
    message = f"the connection to {address} broke; `{what}` may have been done or not"
    return _error("E502", message, "try again: nothing is lost, and a job is not submitted twice")


def of_words(address: Address, words: str, *, command: str) -> UnreachableError | None:
    """Return the error that the words of `ssh` mean, None where there may have been a connection."""
    if _OTHER_KEY.search(words):
        return other_key(address)
    if _UNKNOWN_KEY.search(words):
        return unknown_key(address, "", "")
    if _REFUSED.search(words):
        return login_refused(address, words, command=command)
    return not_reached(address, words) if _NOT_REACHED.search(words) else None


def _last(words: str) -> str:
    """Return the last line that says something."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason is given"


def _error(code: str, message: str, hint: str) -> UnreachableError:
    return UnreachableError(Diagnostic(code=code, message=message, hint=hint))

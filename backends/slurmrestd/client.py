"""Speak to slurmrestd: JSON over HTTP, on a unix socket or to a host, with a token where there is one."""

from __future__ import annotations

import json
import os
import socket
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from paislurm.translator.errors import Diagnostic, UnreachableError

from ..bounded_run import MAX_ANSWER
from ..runner import Completed
from ..slurm.api import unusable
from ..slurm.refusals import failure

if TYPE_CHECKING:
    from ..billed_runner import Charge

ADDRESS, TOKEN = "PAISLURM_SLURMRESTD", "SLURM_JWT"
"""The variables that name where it listens (`unix:/run/slurmrestd.sock`, `http://host:6820`), and what it asks for.

The second is Slurm's own: `scontrol token` prints it. Source: rest.html, JWT.
"""
VERSION = "v0.0.42"
"""Of what is asked: Slurm 24.11 to 26.05 have it. Source: rest_api.html."""
INVALID_JOB = 2017
"""Source: slurm_errno.h, ESLURM_INVALID_JOB_ID."""
UNSPECIFIED = -1
"""Source: slurm_errno.h, SLURM_ERROR."""
CALL_SECONDS = 60.0
MAX_WORDS = 300


class RestClient:
    """Ask slurmrestd. `charge` is told of each call, as by `BilledRunner`."""

    def __init__(
        self,
        charge: Charge = lambda _, __, ___: None,
        *,
        address: str = "",
        timeout: float = CALL_SECONDS,
    ) -> None:
        self._charge = charge
        self._address = address or os.environ.get(ADDRESS, "")
        self._timeout = timeout

    def get(self, plugin: str, what: str) -> dict[str, Any]:
        """Return the answer of `slurm` or `slurmdb`; {} for a job that is not known."""
        return self._call("GET", plugin, what)

    def delete(self, plugin: str, what: str) -> None:
        """Have something ended; what is not there is no error."""
        self._call("DELETE", plugin, what)

    def _call(self, method: str, plugin: str, what: str) -> dict[str, Any]:
        """Return an answer.

        Raises UnusableError where nobody listens, or nobody who knows this version and this user; UnreachableError
        without an answer in time; and else what Slurm's own programs would be told by the same words of Slurm.
        """
        connection = self._connection()
        failed = True
        try:
            status, text = self._exchange(connection, method, f"/{plugin}/{VERSION}/{what}")
            found = _answer(status, text)
            failed = False
        finally:
            self._charge(("slurmrestd", what), 0.0, "failed" if failed else "ok")
        return found

    def _exchange(self, connection: HTTPConnection, method: str, path: str) -> tuple[int, str]:
        try:
            with closing(connection):
                connection.request(method, path, headers=_headers())
                answer = connection.getresponse()
                text = answer.read(MAX_ANSWER + 1)
                if len(text) > MAX_ANSWER:
                    raise unusable("slurmrestd", f"it answers more than {MAX_ANSWER >> 20} MB")
                return answer.status, text.decode(errors="replace")
        except TimeoutError:
            message = f"slurmrestd gave no answer within {self._timeout:g} s; what was asked may have been done or not"
            raise UnreachableError(
                Diagnostic(code="E502", message=message, hint="try again later: nothing is lost")
            ) from None
        except ValueError:
            raise unusable("slurmrestd", f"{TOKEN} is no token", "set it to what `scontrol token` prints") from None
        except (OSError, HTTPException) as error:
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise unusable("slurmrestd", f"nobody answers at {self._address} ({words})") from None

    def _connection(self) -> HTTPConnection:
        scheme, _, path = self._address.partition(":")
        if scheme == "unix" and path:
            return _SocketConnection(path, self._timeout)
        with suppress(ValueError):
            parts = urlsplit(self._address)
            kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
            port = parts.port or (443 if kind is HTTPSConnection else 6820)
            if parts.scheme in ("http", "https") and parts.hostname:
                return kind(parts.hostname, port, timeout=self._timeout)
        hint = f"set {ADDRESS} to unix:/PATH or http://HOST:PORT: docs/administrator/slurmrestd.md has how"
        wrong = f"{ADDRESS} is '{self._address}'" if self._address else f"{ADDRESS} says not where it listens"
        raise unusable("slurmrestd", wrong, hint)


class _SocketConnection(HTTPConnection):
    """A connection to a unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _headers() -> dict[str, str]:
    token = os.environ.get(TOKEN)
    return {"Accept": "application/json", **({"X-SLURM-USER-TOKEN": token} if token else {})}


def _answer(status: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if status in (401, 403):
        hint = f"set {TOKEN} to what `scontrol token` prints: docs/administrator/slurmrestd.md has how"
        raise unusable("slurmrestd", f"it does not let this user in ({_words(text, status)})", hint)
    if status == 404 and not isinstance(found, dict):
        raise unusable("slurmrestd", f"it has no {VERSION}, which Slurm 24.11 to 26.05 have")
    said = found.get("errors") if isinstance(found, dict) else None
    errors = [error for error in said if isinstance(error, dict)] if isinstance(said, list) else []
    if any(error.get("error_number") == INVALID_JOB for error in errors):
        return {}
    if isinstance(found, dict) and not errors and status < 400:
        return found
    if status >= 500 and all(error.get("error_number") == UNSPECIFIED for error in errors):
        # So it is where the controller is away.
        message = f"slurmrestd got no answer of Slurm: {_words(text, status)}"
        raise UnreachableError(Diagnostic(code="E502", message=message, hint="try again later: nothing is lost"))
    said = "; ".join(str(error.get("error") or error.get("description") or error) for error in errors)
    raise failure(("slurmrestd",), Completed(status=1, stdout="", stderr=said or _words(text, status)))


def _words(text: str, status: int) -> str:
    return " ".join(text.split())[:MAX_WORDS] or f"HTTP status {status}"

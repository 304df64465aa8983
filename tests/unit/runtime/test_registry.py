"""What the script asks a registry, and what it makes of each answer; a real curl, and a server that keeps the rules."""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ..written_files import write_programs
from .bash import sourced

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("openssl")), reason="no curl or openssl on this machine"
)
USER, PASSWORD = "me", 'a"b\\c d$e'
DIGEST = "sha256:" + "4" * 64
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@dataclass
class Server:
    """A registry with its own certificate. `scheme` is how it wants to know users, `statuses` what it answers first."""

    folder: Path
    scheme: str = "Bearer"
    anonymous: bool = False
    digest: str = DIGEST
    realm: str = ""
    moved: str = ""
    token: str = '{"expires_in": 300,\n "token" : "abc.def-1"}'
    statuses: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.port}"

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:
        url = urlsplit(path)
        self.asked.append(url.path)
        if self.statuses:
            return self.statuses.pop(0), {}, ""
        known = headers.get("authorization", "")
        if url.path == "/token":
            fields = parse_qs(url.query)
            asked = fields == {"service": ["images here"], "scope": ["repository:team/tiny:pull"]}
            good = asked and (known == BASIC or (self.anonymous and not known))
            return (200, {}, self.token) if good else (401, {}, "{}")
        if self.moved and not url.path.startswith("/moved/"):
            return 307, {"Location": self.moved.replace("PORT", str(self.port)) + "/moved" + url.path}, ""
        if known != (BASIC if self.scheme == "Basic" else "Bearer abc.def-1"):
            realm = f'realm="{self.realm or f"https://{self.name}/token"}",service="images here",scope="x"'
            return 401, {"WWW-Authenticate": f"{self.scheme} {realm}"}, ""
        if url.path.removeprefix("/moved") != "/v2/team/tiny/manifests/1.0":
            return 404, {}, ""
        if "application/vnd.oci.image.index.v1+json" not in headers.get("accept", ""):
            return 400, {}, ""
        return 200, {"Docker-Content-Digest": self.digest}, ""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(folder=tmp_path)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, fields, body = server.answer(self.path, headers)
            self.send_response(status)
            for name, value in {**fields, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body.encode())

        do_HEAD = do_GET  # noqa: N815 - the name that the base class calls

        def log_message(self, *_: object) -> None:
            pass

    names = ["-subj", "/CN=images", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "certificate.pem")]
    request = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    subprocess.run([*request, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    server.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    yield server
    http.shutdown()
    thread.join()
    http.server_close()


def resolve(
    server: Server, version: str = "1.0", login: str | None = None, *, trusted: bool = True, settings: str = ""
) -> str:
    """Return the digest that is found, or the problem; curl's own words are looked through for the password."""
    folder = server.folder
    curl = f'#!/bin/sh\nprintf \'%s\\n\' "$@" >>{folder}/argv\nexec {shutil.which("curl")} "$@"\n'
    write_programs(folder / "bin", {"curl": curl})
    settings += f"PSL_SECRETS_FOLDER='{folder}'\n" + (
        f"PSL_CERTIFICATES='{folder}/certificate.pem'\n" if trusted else ""
    )
    if login is not None:
        (folder / "auth@x").write_text(login)
        settings += "PSL_LOGINS='auth@x'\n"
    code = f"""set -u
{sourced("charliecloud")}
{settings}
sleep() {{ printf 'slept %s\\n' "$1"; }}
if resolve_image '{server.name}' team/tiny '{version}'; then echo "$PSL_DIGEST"
else echo "$PSL_KIND: $PSL_PROBLEM"; fi"""
    done = subprocess.run(
        ["bash", "-c", code],
        env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "SLURMD_NODENAME": "n1", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    words = (folder / "argv").read_text() if (folder / "argv").exists() else ""
    assert PASSWORD not in words
    assert "abc.def-1" not in words
    return done.stdout.strip().replace(server.name, "SERVER")


def login(server: Server, password: str = PASSWORD) -> str:
    return f"https://{server.name}/v1/\n{USER}\n{password}\n"


@pytest.mark.parametrize("scheme", ["Basic", "Bearer"])
def test_credentials_are_sent_to_the_registry(server: Server, scheme: str) -> None:
    server.scheme = scheme
    assert resolve(server, login=login(server)) == DIGEST
    image = "SERVER/team/tiny:1.0" if scheme == "Basic" else "SERVER/team/tiny"
    refused = f"permanent: the registry SERVER refuses the image {image} to the user me"
    assert resolve(server, login=login(server, "other")) == refused


ONLY_TO_USERS = "permanent: the registry SERVER gives the image SERVER/team/tiny only to users"
NO_DIGEST = "permanent: the registry SERVER reports no digest"
NO_LOGIN = "permanent: not three lines (server, user, password) in "
BEGINNINGS = (ONLY_TO_USERS, NO_DIGEST, NO_LOGIN)
TOO_LONG = "permanent: the registry SERVER answers with more than 65536 bytes"


@pytest.mark.parametrize(
    ("settings", "asked", "found"),
    [
        pytest.param({"anonymous": True}, {"login": None}, DIGEST, id="a public image needs no credentials"),
        pytest.param({}, {"login": None}, ONLY_TO_USERS, id="no credentials"),
        pytest.param({}, {"login": "docker.io\nme\nword\n"}, ONLY_TO_USERS, id="credentials of another registry"),
        pytest.param({}, {"version": "2.0"}, "permanent: there is no image SERVER/team/tiny:2.0", id="no image"),
        # It would be a part of a path.
        pytest.param(
            {},
            {"version": "sha256:../../../x"},
            "permanent: there is no image SERVER/team/tiny:sha256:../../../x",
            id="an invalid digest in the job file is looked up",
        ),
        pytest.param(
            {},
            {"trusted": False},
            "permanent: the certificate of SERVER is not trusted (site profile: containers.certificates)",
            id="a certificate that is not trusted",
        ),
        *(
            pytest.param({"digest": digest}, {}, NO_DIGEST, id=f"digest {digest[:20]}")
            for digest in ("", "sha256:$(id)", "../../x", "sha256:", "sha256:" + "4" * 63, "sha256:" + "4" * 65)
        ),
        *(
            pytest.param({}, {"login": text}, NO_LOGIN, id="invalid credentials")
            for text in ("docker.io\nme\n", "one line", "a\nb\nc\nd\n")
        ),
        *(pytest.param({"token": "x" * size}, {}, TOO_LONG, id="endless") for size in (65_600, 5_000_000)),
        # What curl is told stands on lines.
        pytest.param(
            {"token": '{"token": "abc.def-1\noutput = FOLDER/taken\n"}'},
            {},
            "permanent: the registry SERVER gives no token",
            id="a token with newlines",
        ),
    ],
)
def test_an_answer_is_a_digest_or_a_reason(
    server: Server, settings: dict[str, Any], asked: dict[str, Any], found: str
) -> None:
    for name, value in settings.items():
        setattr(server, name, value.replace("FOLDER", str(server.folder)) if isinstance(value, str) else value)
    said = resolve(server, **({"login": login(server)} | asked))
    assert said == found or (found in BEGINNINGS and said.startswith(found))
    assert said.endswith("the job has no credentials for SERVER") == (found == ONLY_TO_USERS)
    assert not (server.folder / "taken").exists()


def test_temporary_registry_errors_are_retried(server: Server) -> None:
    server.statuses = [503, 429]
    assert resolve(server, login=login(server)).splitlines() == ["slept 1", "slept 4", DIGEST]
    server.statuses = [500, 500, 500]
    assert resolve(server, login=login(server)).splitlines()[2:] == [
        "transient: the registry SERVER answers with status 500 for SERVER/team/tiny:1.0"
    ]


def test_a_digest_needs_no_registry(server: Server) -> None:
    assert resolve(server, "sha256:" + "5" * 64) == "sha256:" + "5" * 64
    assert server.asked == []


def test_the_path_of_the_credentials_file_may_contain_the_user_name(server: Server) -> None:
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    (server.folder / f"{user}'s").write_text(login(server))
    assert resolve(server, settings=f"PSL_LOGIN_FILE=('file://{server.folder}/' \"'s\")\n") == DIGEST


@pytest.mark.parametrize("realm", ["http://127.0.0.1:9/token", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_redirects_to_http_are_refused(server: Server, realm: str) -> None:
    """Neither where tokens come from, nor where the registry says that an image has moved."""
    refused = "permanent: the registry SERVER redirects to an address that is not https"
    server.realm = realm
    assert resolve(server, login=login(server)) == refused
    server.realm, server.moved = "", realm
    server.asked.clear()
    assert resolve(server, login=login(server)) == refused
    server.moved = "https://127.0.0.1:PORT"
    assert resolve(server, login=login(server)) == DIGEST


def test_the_curl_settings_of_the_user_are_ignored(server: Server) -> None:
    (server.folder / ".curlrc").write_text(f"output = {server.folder}/taken\nproxy = http://127.0.0.1:9\n")
    assert resolve(server, login=login(server)) == DIGEST
    assert not (server.folder / "taken").exists()


def test_brackets_in_an_address_are_not_expanded_by_curl(server: Server) -> None:
    """Of a pattern curl would ask for every one."""
    server.realm = f"https://{server.name}/token{{1,2,3}}[1-9]"
    assert resolve(server, login=login(server)).startswith("permanent: the registry SERVER refuses the image")
    assert [path for path in server.asked if path.startswith("/token")] == ["/token{1,2,3}[1-9]"]

"""What the script asks a registry, and what it makes of each answer; a real curl, and a server that keeps the rules."""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from .bash import sourced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    (folder / "bin").mkdir(exist_ok=True)
    curl = folder / "bin" / "curl"
    curl.write_text(f'#!/bin/sh\nprintf \'%s\\n\' "$@" >>{folder}/argv\nexec {shutil.which("curl")} "$@"\n')
    curl.chmod(0o755)
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


def test_a_public_image_needs_no_credentials(server: Server) -> None:
    server.anonymous = True
    assert resolve(server) == DIGEST


@pytest.mark.parametrize("other", [None, "docker.io\nme\nword\n"])
def test_credentials_of_another_registry_are_not_sent(server: Server, other: str | None) -> None:
    found = resolve(server, login=other)
    assert found.startswith("permanent: the registry SERVER gives the image SERVER/team/tiny only to users")
    assert found.endswith("the job has no credentials for SERVER")


def test_temporary_registry_errors_are_retried(server: Server) -> None:
    server.statuses = [503, 429]
    assert resolve(server, login=login(server)).splitlines() == ["slept 1", "slept 4", DIGEST]
    server.statuses = [500, 500, 500]
    assert resolve(server, login=login(server)).splitlines()[2:] == [
        "transient: the registry SERVER answers with status 500 for SERVER/team/tiny:1.0"
    ]


def test_a_missing_image_is_not_retried(server: Server) -> None:
    assert resolve(server, "2.0", login(server)) == "permanent: there is no image SERVER/team/tiny:2.0"


def test_a_digest_needs_no_registry(server: Server) -> None:
    assert resolve(server, "sha256:" + "5" * 64) == "sha256:" + "5" * 64
    assert server.asked == []


def test_an_untrusted_certificate_is_refused(server: Server) -> None:
    assert resolve(server, login=login(server), trusted=False) == (
        "permanent: the certificate of SERVER is not trusted (site profile: containers.certificates)"
    )


def test_the_path_of_the_credentials_file_may_contain_the_user_name(server: Server) -> None:
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    (server.folder / f"{user}'s").write_text(login(server))
    assert resolve(server, settings=f"PSL_LOGIN_FILE=('file://{server.folder}/' \"'s\")\n") == DIGEST


@pytest.mark.parametrize(
    "digest", ["", "sha256:$(id)", "../../x", "sha256:", "sha256:" + "4" * 63, "sha256:" + "4" * 65]
)
def test_an_invalid_digest_is_refused(server: Server, digest: str) -> None:
    server.digest = digest
    assert resolve(server, login=login(server)).startswith("permanent: the registry SERVER reports no digest")


@pytest.mark.parametrize("text", ["docker.io\nme\n", "one line", "a\nb\nc\nd\n"])
def test_an_invalid_credentials_file_is_reported(server: Server, text: str) -> None:
    assert resolve(server, login=text).startswith("permanent: not three lines (server, user, password) in ")


def test_an_invalid_digest_in_the_job_file_is_looked_up(server: Server) -> None:
    """It would be a part of a path."""
    assert resolve(server, "sha256:../../../x", login(server)) == (
        "permanent: there is no image SERVER/team/tiny:sha256:../../../x"
    )


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


@pytest.mark.parametrize("size", [65_600, 5_000_000])
def test_an_endless_answer_is_cut_off(server: Server, size: int) -> None:
    server.token = "x" * size
    assert resolve(server, login=login(server)) == ("permanent: the registry SERVER answers with more than 65536 bytes")


def test_a_token_with_newlines_is_refused(server: Server) -> None:
    """What curl is told stands on lines."""
    server.token = f'{{"token": "abc.def-1\noutput = {server.folder}/taken\n"}}'
    assert resolve(server, login=login(server)) == "permanent: the registry SERVER gives no token"
    assert not (server.folder / "taken").exists()

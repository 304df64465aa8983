"""A registry of images for the cluster: Debian's docker-registry, with a certificate of its own and a password."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.instance import LOGIN, require_privilege
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster

USER, PASSWORD = "puller", "pa\"ss'\\w$rd %"
CONFIG = """\
version: 0.1
log: {accesslog: {disabled: false}}
storage: {filesystem: {rootdirectory: FOLDER/data}}
http: {addr: "ADDRESS", tls: {certificate: FOLDER/certificate.pem, key: FOLDER/key.pem}}
auth: {htpasswd: {realm: images, path: FOLDER/users}}
"""
LISTENS = "listening on "
"""What a registry says before its address."""


@contextmanager
def registry_in(cluster: Cluster) -> Iterator[Registry]:
    """Run a registry that holds nothing yet, apart from those of other test processes."""
    require_privilege("an image")
    with tempfile.TemporaryDirectory(prefix="registry-", dir=cluster.instance.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)
        registry = Registry(cluster, folder)
        try:
            registry.start()
            yield registry
        finally:
            registry.stop()


class Registry:
    """A registry on the cluster's login host; `folder` has its files, which all hosts see.

    `server` is its address with a port that was free, and stays the same when it is started again.
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.server = f"{cluster.address(LOGIN)}:0"
        self._process: subprocess.Popen[str] | None = None
        self._running = ExitStack()

    @property
    def certificate(self) -> Path:
        """The certificate, which no host trusts by itself."""
        return self.folder / "certificate.pem"

    @property
    def log(self) -> str:
        """What was asked of it so far."""
        return (self.folder / "log").read_text()

    def start(self) -> None:
        """Start it and wait until it answers."""
        name = f"IP:{self.server.partition(':')[0]}"
        request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=images"]
        keys = ["-keyout", str(self.folder / "key.pem"), "-out", str(self.certificate)]
        subprocess.run([*request, "-addext", f"subjectAltName={name}", *keys], check=True, capture_output=True)
        # bcrypt, all that it takes; the salt is part of what is written.
        crypt = ["perl", "-e", "print crypt(<STDIN>, '$2b$04$abcdefghijklmnopqrstuu')"]
        word = subprocess.run(crypt, input=PASSWORD, check=True, capture_output=True, text=True).stdout
        (self.folder / "users").write_text(f"{USER}:{word}\n")
        config = CONFIG.replace("FOLDER", str(self.folder)).replace("ADDRESS", self.server)
        (self.folder / "config.yml").write_text(config)
        (self.folder / "log").touch()
        shell = f"exec docker-registry serve {self.folder}/config.yml >>{self.folder}/log 2>&1"
        argv = ["bash", "-c", shell]
        self._process = self._running.enter_context(self.cluster.child(argv, user="root", host=LOGIN))
        wait_until(self._answers, f"the registry to answer, see {self.folder}/log")

    def stop(self) -> None:
        """Stop it; what it holds stays."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None
        self._running.close()

    def push(self, name: str, marker: str) -> str:
        """Push an image of some MB that has the marker in `/marker`; return its digest."""
        archive = self.folder / "image.tar"
        make_image(self.folder / "image", archive, marker)
        digest = self.folder / "digest"
        argv = ["skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"--dest-authfile={self._login()}"]
        where = [f"--digestfile={digest}", f"docker-archive:{archive}", f"docker://{self.server}/{name}"]
        done = subprocess.run([*argv, *where], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return digest.read_text().strip()

    def _login(self) -> Path:
        file = self.folder / "login.json"
        word = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        file.write_text(json.dumps({"auths": {self.server: {"auth": word}}}))
        return file

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        _, listens, rest = self.log.rpartition(LISTENS)
        if not listens:
            return False
        self.server = rest.split(",")[0]
        argv = ["curl", "--silent", "--insecure", "--output", "/dev/null", f"https://{self.server}/v2/"]
        return subprocess.run(argv, check=False).returncode == 0


def make_image(folder: Path, archive: Path, marker: str) -> None:
    """Make an image of busybox and bash, as `docker save` writes it."""
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "root"
    make_root(root)
    (root / "marker").write_text(marker + "\n")
    layer = folder / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(root, ".")
    config = {
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64",
        "os": "linux",
        "config": {"Env": ["PATH=/opt/own:/bin", "IMAGE_SAYS=two words"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer.read_bytes()).hexdigest()]},
        "history": [{"created_by": "tests"}],
    }
    (folder / "config.json").write_text(json.dumps(config))
    manifest = [{"Config": "config.json", "RepoTags": None, "Layers": ["layer.tar"]}]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with tarfile.open(archive, "w") as tar:
        for name in ("manifest.json", "config.json", "layer.tar"):
            tar.add(folder / name, name)


def make_root(root: Path) -> None:
    """Lay out a root with bash and busybox, and nothing else."""
    for name in ("bin", "etc", "tmp", "proc", "sys", "dev", "usr"):
        (root / name).mkdir(parents=True)
    (root / "usr/bin").symlink_to("../bin")
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for name in subprocess.run(["busybox", "--list"], check=True, capture_output=True, text=True).stdout.split():
        if name not in ("busybox", "bash"):
            (root / "bin" / name).symlink_to("busybox")
    needed = subprocess.run(["ldd", "/bin/bash"], check=True, capture_output=True, text=True).stdout.split()
    for library in ("/bin/bash", *(word for word in needed if word.startswith("/"))):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    for name in ("hosts", "passwd", "group", "resolv.conf"):
        (root / "etc" / name).touch()

"""Images from a registry that has a certificate of its own and wants a password, and the containers made of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.instance import GROUP_ID, USERS
from tests.cluster.jobs import ONE_ATTEMPT, SITE, Submitted, folder_of_alice, role, submit_file
from tests.cluster.registry import PASSWORD, USER, registry_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.cluster import Cluster
    from tests.cluster.registry import Registry

WAITS = "trap 'exit 0' TERM; sleep 300 & wait"
SAYS = 'echo "$(cat /marker) $IMAGE_SAYS $PATH"; test ! -e /home; hostname'


@pytest.fixture(scope="module")
def registry(installed: Cluster) -> Iterator[Registry]:
    with registry_in(installed) as registry:
        yield registry


@pytest.fixture
def cache(workdir: Path) -> Path:
    return folder_of_alice(workdir / "cache")


def submit(
    registry: Registry,
    folder: Path,
    roles: str,
    image: str,
    *,
    cache: Path | str,
    shared: bool = True,
    password: str = PASSWORD,
    extras: str = "{}",
) -> Submitted:
    """Submit a job of which all tasks run in an image, given without its registry."""
    name = f"i{folder.name[-40:]}"
    auth = f"{{username: {USER}, password: <% $secrets.word %>, registryuri: 'https://{registry.server}/v2/'}}"
    (folder / "job.yaml").write_text(
        f"protocolVersion: 2\nname: {name}\ntype: job\n"
        f"prerequisites: [{{name: plain, type: dockerimage, uri: '{registry.server}{image}', auth: {auth}}}]\n"
        f"taskRoles:\n{roles}extras: {extras}\n"
    )
    quoted = password.replace("'", "''")
    (folder / "secrets.yaml").write_text(f"word: '{quoted}'\n")
    settings = f"cache: {cache}, cacheShared: {str(shared).lower()}, certificates: {registry.certificate}"
    (folder / "site.yaml").write_text(
        SITE.read_text() + ONE_ATTEMPT + f"containers: {{runtime: charliecloud, {settings}}}\n"
    )
    for file, mode in (("job.yaml", 0o644), ("site.yaml", 0o644), ("secrets.yaml", 0o600)):
        (folder / file).chmod(mode)
        os.chown(folder / file, USERS["alice"].uid, GROUP_ID)
    return submit_file(registry.cluster, folder, "job.yaml", "--secrets", "secrets.yaml")


def entries(cache: Path) -> list[str]:
    """Return what a cache holds for alice: each digest once, and what does not belong there."""
    return sorted(path.name for path in (cache / "alice").iterdir() if path.suffix != ".lock")


def entry(name: str, digest: str) -> str:
    return f"{name.replace('/', '%')}@{digest.removeprefix('sha256:')}"


def test_tasks_run_in_an_image_that_is_fetched_once(registry: Registry, workdir: Path, cache: Path) -> None:
    digest = registry.push("team/tiny:1", "first")
    roles = role("master", 1, f"{SAYS}; {WAITS}") + role("worker", 2, "ssh master-0 cat /marker", succeeded=2)
    roles = roles.replace("memoryMB: 100", "memoryMB: 3000")
    job = submit(registry, workdir, roles, "#team/tiny:1", cache=cache)
    code, result = job.ended()
    assert (code, result["outcome"]) == (0, "succeeded"), result["reason"]
    said, node = job.log("0-master/0").splitlines()
    assert said == f"first two words {job.attempt}/bin:/opt/own:/bin"
    assert node == result["tasks"][0]["node"]
    assert [job.log(f"1-worker/{index}") for index in (0, 1)] == ["first\n", "first\n"]
    assert entries(cache) == [entry("team/tiny", digest)]
    assert (cache / "alice").stat().st_mode & 0o777 == 0o700
    left = [file for file in job.attempt.rglob("*") if file.is_file() and PASSWORD.encode() in file.read_bytes()]
    assert left == []


def test_only_a_changed_tag_adds_a_cache_entry(registry: Registry, workdir: Path, cache: Path) -> None:
    digests, markers = [], []
    for number, marker in enumerate(["first", "first", "second"]):
        digests.append(registry.push("team/moving", marker) if number != 1 else digests[0])
        folder = folder_of_alice(workdir / str(number))
        before = registry.log.count("GET /v2/team/moving/blobs/")
        job = submit(registry, folder, role("only", 1, "cat /marker"), "/team/moving", cache=cache)
        assert job.ended()[0] == 0
        markers.append(job.log("0-only/0").strip())
        assert (registry.log.count("GET /v2/team/moving/blobs/") > before) == (number != 1)
    assert markers == ["first", "first", "second"]
    assert entries(cache) == sorted(entry("team/moving", digest) for digest in {*digests})


def test_unshared_cache_stores_the_image_on_each_node(registry: Registry, workdir: Path) -> None:
    digest = registry.push("team/nodes:1", "first")
    cache = f"/tmp/{workdir.name}"
    for node in registry.cluster.nodes:
        registry.cluster.run(["mkdir", "-m", "1777", cache], user="root", host=node, check=True)
    roles = role("one", 1, "cat /marker; hostname") + role("two", 1, "cat /marker; hostname")
    job = submit(registry, workdir, roles, "/team/nodes:1", cache=cache, shared=False, extras="{slurm: {layout: het}}")
    code, result = job.ended()
    assert code == 0, result["reason"]
    used = {task["node"] for task in result["tasks"]}
    assert len(used) == 2
    assert {job.log(f"{folder}/0") for folder in ("0-one", "1-two")} == {f"first\n{node}\n" for node in used}
    for node in registry.cluster.nodes:
        held = registry.cluster.run(["ls", f"{cache}/alice"], host=node).stdout.split()
        assert held == ([entry("team/nodes", digest), f"{entry('team/nodes', digest)}.lock"] if node in used else [])


@pytest.mark.parametrize(
    ("image", "password", "reason"),
    [
        ("/team/tiny:1", "wrong", "the registry SERVER refuses the image SERVER/team/tiny:1 to the user puller"),
        ("/team/none:1", PASSWORD, "there is no image SERVER/team/none:1"),
    ],
    ids=["refused", "missing"],
)
def test_rejected_image_pull_is_a_permanent_failure(
    registry: Registry, workdir: Path, cache: Path, image: str, password: str, reason: str
) -> None:
    registry.push("team/tiny:1", "first")
    job = submit(registry, workdir, role("only", 1, "true"), image, cache=cache, password=password)
    code, result = job.ended()
    assert (code, result["exit_code"], result["behaviour"]) == (1, 254, "permanent")
    assert result["reason"] == reason.replace("SERVER", registry.server)


def test_unreachable_registry_is_a_transient_failure(registry: Registry, workdir: Path, cache: Path) -> None:
    registry.push("team/tiny:1", "first")
    registry.stop()
    try:
        job = submit(registry, workdir, role("only", 1, "true"), "/team/tiny:1", cache=cache)
        code, result = job.ended()
    finally:
        registry.start()
    assert (code, result["exit_code"], result["behaviour"]) == (1, 254, "transient")
    assert result["reason"] == f"no answer from the registry {registry.server} (curl: status 7)"


def test_jobs_that_want_the_same_image_at_once_fetch_it_once(registry: Registry, workdir: Path, cache: Path) -> None:
    digest = registry.push("team/wanted:1", "first")
    remains = cache / "alice" / f"{entry('team/wanted', digest)}.new.1-0.n9"
    remains.mkdir(parents=True)
    (remains / "half").touch()
    for path in (cache / "alice", remains / "half", remains):
        os.chown(path, USERS["alice"].uid, GROUP_ID)
    os.utime(remains, (0, 0))
    folders = [folder_of_alice(workdir / name) for name in ("a", "b", "c")]
    jobs = [submit(registry, each, role("only", 1, "cat /marker"), "/team/wanted:1", cache=cache) for each in folders]
    assert [job.ended()[0] for job in jobs] == [0, 0, 0]
    assert entries(cache) == [entry("team/wanted", digest)]
    layers = [line for line in registry.log.splitlines() if '"GET /v2/team/wanted/blobs/' in line and '" 200 ' in line]
    assert len(layers) == 2, layers  # the layer and the configuration

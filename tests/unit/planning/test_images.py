"""References to images in all their forms, which runtime reads what, and the credentials of registries."""

from __future__ import annotations

import pytest

from paislurm.translator.errors import PlanError, ProtocolError
from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.images import reference_of
from paislurm.translator.site.load import load_site

DIGEST = "sha256:" + "0" * 64
JOB = """\
protocolVersion: 2
name: demo
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "URI", auth: AUTH}
  - {type: dockerimage, name: unused, uri: x, auth: {password: unasked}}
secrets: {word: "a'b", user: {name: me}}
taskRoles:
  only:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [echo <% $secrets.word %>]
"""
AUTH = "{username: <% $secrets.user.name %>, password: x<% $secrets.word %>, registryuri: 'https://r.io'}"


def compiled(
    uri: str = "a/b:c", containers: str = "cache: /c", runtime: str = "charliecloud", auth: str = AUTH
) -> Compiled:
    site = load_site(f"containers: {{runtime: {runtime}, {containers}}}", file="site.yaml")
    return compile_job(JOB.replace("URI", uri).replace("AUTH", auth), site=site)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("python", "registry-1.docker.io/library/python:latest"),
        ("docker.io/python:3.11", "registry-1.docker.io/library/python:3.11"),
        ("docker://index.docker.io/library/python", "registry-1.docker.io/library/python:latest"),
        ("openpai/standard:python_3.6-gpu", "registry-1.docker.io/openpai/standard:python_3.6-gpu"),
        ("localhost/a", "localhost/a:latest"),
        ("host:5000/a/b-c__d.e:T1", "host:5000/a/b-c__d.e:T1"),
        ("nvcr.io#nvidia/pytorch:24.01-py3", "nvcr.io/nvidia/pytorch:24.01-py3"),
        ("docker://$oauthtoken@nvcr.io#nvidia/pytorch", "nvcr.io/nvidia/pytorch:latest"),
        (f"quay.io/a/b:tag@{DIGEST}", f"quay.io/a/b@{DIGEST}"),
        (f"a@{DIGEST}", f"registry-1.docker.io/library/a@{DIGEST}"),
    ],
)  # fmt: skip
def test_all_forms_of_image_references_are_parsed(uri: str, shown: str) -> None:
    assert str(reference_of(uri)) == shown


@pytest.mark.parametrize(
    "uri", ["", "A/b", "a b", "a:", "a@sha256:0", "a/../b", "-r.io/$(id)", "r.io/a:b/c", "https://r.io/a", "r.io;x/a"]
)  # fmt: skip
def test_invalid_image_references_are_rejected(uri: str) -> None:
    assert reference_of(uri) is None


@pytest.mark.parametrize(
    ("runtime", "uri", "containers", "code"),
    [
        ("charliecloud", "A:b", "cache: /c", "E418"),
        ("charliecloud", "a", "images: {aa: /x}", "E415"),
        ("charliecloud", "/x/a.sqsh", "mounts: []", "E419"),
        ("podman", "/x/a.sif", "mounts: []", "E419"),
        ("pyxis", "/x/folder", "mounts: []", "E419"),
        ("pyxis", "/x/a.sif", "mounts: []", "E419"),
        ("charliecloud", "a", "images: {a: /x/a.sif}", "E419"),
    ],
)
def test_images_unavailable_at_the_site_are_refused(runtime: str, uri: str, containers: str, code: str) -> None:
    with pytest.raises(PlanError) as caught:
        compiled(uri, containers, runtime)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.location and diagnostic.location.line) == (code, 4)
    assert diagnostic.hint


def test_only_a_requested_size_of_dev_shm_is_missed() -> None:
    assert compiled(runtime="apptainer").warnings == ()


def test_a_reference_is_mapped_to_a_path_of_the_site() -> None:
    made = compiled("docker://a/b:c", 'images: {"a/b:c": /x}')
    assert made.plan.roles[0].image_plan.path == "/x"
    assert not made.plan.fetches_images
    assert made.plan.secrets == ("word",)


@pytest.mark.parametrize(
    "name", ["ubuntu", "library/ubuntu", "docker.io/library/ubuntu:latest", "docker://ubuntu:latest"]
)
@pytest.mark.parametrize("uri", ["ubuntu", "ubuntu:latest", "index.docker.io/library/ubuntu", "docker://ubuntu"])
def test_an_image_of_the_site_is_found_by_any_of_its_names(name: str, uri: str) -> None:
    assert compiled(uri, f'images: {{"{name}": /x, "ubuntu:22.04": /y}}').plan.roles[0].image_plan.path == "/x"


def test_credentials_are_stored_only_as_a_secret_of_the_job() -> None:
    made = compiled()
    assert made.secrets == {"word": "a'b", "auth@image": "https://r.io\nme\nxa'b\n"}
    assert made.plan.secrets == ("word", "auth@image")
    assert not any(word in made.script for word in ("r.io\n", "xa'", "a'b", "unasked"))
    assert "LOGINS='auth@image'" in made.script


def test_a_job_without_containers_stores_no_credentials() -> None:
    assert compiled(containers="mounts: []", runtime="none").secrets == {"word": "a'b"}


def test_credentials_with_newlines_are_refused() -> None:
    with pytest.raises(ProtocolError) as caught:
        compiled(auth='{username: a, password: "b\\nc"}')
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E319"]
    assert "b\nc" not in str(caught.value)


def test_the_credentials_file_of_protocol_v1_is_read() -> None:
    site = load_site("containers: {runtime: charliecloud, cache: ~/images}\ndefaultFileSystem: /fs", file="site.yaml")
    job = '{"jobName": "j", "image": "a/b", "authFile": "$PAI_DEFAULT_FS_URI/$PAI_USER_NAME/it\'s", "taskRoles": [{"name": "r", "command": "true"}]}'  # noqa: E501
    made = compile_job(job, file="job.json", site=site)
    assert "PSL_LOGIN_FILE=(/fs/ '/it'\\''s')\n" in made.script
    assert "\nPSL_IMAGE_CACHE='~/images'" in made.script

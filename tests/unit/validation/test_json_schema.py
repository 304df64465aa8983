"""The JSON Schemas say what the models say, key by key and for any value."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import ValidationError

from paislurm.translator.protocol.v1.schema import JobFileV1
from paislurm.translator.protocol.v2.schema import JobFile
from paislurm.translator.reading.read import read
from paislurm.translator.site.profile import Site
from paislurm.translator.validation.json_schema import json_schema
from paislurm.translator.validation.strict_model import StrictModel

MODELS: dict[str, type[StrictModel]] = {"v2": JobFile, "v1": JobFileV1, "site": Site}
SCHEMAS = {name: json_schema(model, name) for name, model in MODELS.items()}
EXAMPLES = Path(__file__).parents[3] / "examples"
FULL: dict[str, Any] = {
    "v2": yaml.safe_load("""
protocolVersion: 2
name: full
type: job
version: 1.0
prerequisites:
  - {type: dockerimage, name: image, uri: "python:3.11", auth: {username: u, password: p, registryuri: r}}
  - {type: data, name: set, uri: [a, b], require: [tool], plugin: x, own: 1}
  - {type: script, name: tool, uri: here}
parameters: {lr: 0.1, deep: {er: [1, 2]}}
secrets: {token: t}
jobRetryCount: 2
taskRoles:
  worker:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    taskRetryCount: 1
    prerequisites: [tool]
    dockerImage: image
    data: set
    extraContainerOptions: {shmMB: 64, infiniband: true}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0, ports: {web: 2}}
    commands: [echo one, echo two]
deployments:
  - {name: prod, taskRoles: {worker: {preCommands: [echo before], postCommands: [echo after]}}}
defaults: {deployment: prod, virtualCluster: gpu}
extras:
  gangAllocation: false
  com.microsoft.pai.runtimeplugin: [{plugin: ssh, parameters: {jobssh: true}, taskroles: [worker]}]
  slurm:
    layout: het
    onTimeout: retry
    slots: 1
    compat: {nounset: false, minSucceeded: all}
    v1: {retryCount: -2, killAllOnCompletedTaskNumber: 2, fixedPorts: {worker: {web: 80}}, codeDir: c}
    isDebug: 30
    taskRoles: {worker: {qos: high, options: [--nice=5]}}
"""),
    "v1": yaml.safe_load("""
jobName: full
image: python:3.11
authFile: hdfs://host/auth
dataDir: /data
outputDir: /output
codeDir: /code
virtualCluster: gpu
taskRoles:
  - name: worker
    taskNumber: 2
    cpuNumber: 1
    memoryMB: 1000
    shmMB: 64
    gpuNumber: 1
    portList: [{label: web, beginAt: 8080, portNumber: 2}]
    command: python train.py
    minFailedTaskCount: 1
    minSucceededTaskCount: null
gpuType: k80
killAllOnCompletedTaskNumber: 2
retryCount: -2
jobEnvs: {a_b: 1, isDebug: true}
extras:
  submitFrom: portal
  slurm: {layout: het}
"""),
    "site": yaml.safe_load("""
version: 1
name: here
partitions: {gpu: {nodes: [{count: 2, cpus: 8, memoryMB: 16000, gpus: 2, gpuType: a100}]}}
defaultPartition: gpu
virtualClusters: {default: {partition: gpu, account: a}}
gresStyle: gres
address: getent
ports: {first: 15000, last: 16000}
time: {warning: 60, grace: 10, killWait: 20}
defaultFileSystem: "hdfs://host:9000"
retry: {maxTransientRetries: 3, maxRestarts: 9, onRootCancel: retry}
exitSpec: [{code: -1003, phrase: Gone, behaviour: permanent, states: {PREEMPTED: it was}, excludeNode: true}]
monitor: {background: false, maxPollInterval: 60}
notifications: {command: [/bin/tell, me], sendmail: /usr/sbin/sendmail}
compat: {nounset: true}
"""),
}
LOOSE = (
    "time",
    "isDebug",
    "timeLimit",
    "default",
    "nodelist",
    "exclude",
    "options",
    "address",
    "name",
    "secrets",
    "defaultFileSystem",
)
"""Keys whose form an editor does not check to the last letter."""


def accepts(name: str, value: Any) -> tuple[bool, bool]:
    """Return what the model says of a value, and what its schema says."""
    try:
        MODELS[name].model_validate(value)
        by_model = True
    except ValidationError:
        by_model = False
    return by_model, jsonschema.Draft202012Validator(SCHEMAS[name]).is_valid(value)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of everything inside a value."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(location for key, each in inner for location in places(each, (*path, key)))]


def changed(value: Any, path: tuple[str | int, ...], to: object, *, key: str | None) -> Any:
    """Return a copy with another value at a path, or with one more key there."""
    value = copy.deepcopy(value)
    inside = value
    for step in path[:-1]:
        inside = inside[step]
    if not path:
        return to if key is None else {**value, key: to}
    if key is None:
        inside[path[-1]] = to
    elif isinstance(inside[path[-1]], dict):
        inside[path[-1]][key] = to
    return value


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_json_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert accepts(name, FULL[name]) == (True, True)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_has_a_description(name: str) -> None:
    for definition in (SCHEMAS[name], *SCHEMAS[name]["$defs"].values()):
        assert [key for key, schema in definition.get("properties", {}).items() if "description" not in schema] == []


@pytest.mark.parametrize("name", SCHEMAS)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_schema_and_model_agree(name: str, data: st.DataObject) -> None:
    """One value of a full file becomes another, or one more key stands somewhere."""
    path = data.draw(st.sampled_from(places(FULL[name])))
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 12000), st.floats(-2, 3), st.sampled_from(["", "a", "a b", "x-1"])
    )
    to = data.draw(st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.sampled_from("ab"), scalars)))
    key = data.draw(st.none() | st.sampled_from(["name", "unknown", "with blank", "uri"]))
    by_model, by_schema = accepts(name, changed(FULL[name], path, to, key=key))
    if by_model:
        assert by_schema
    elif not any(step in LOOSE for step in (*path, key)):
        assert not by_schema


def published(pattern: str) -> list[Path]:
    """Return the published job files, where they are."""
    folder = os.environ.get("PAISLURM_OPENPAI_JOBS")
    return sorted(Path(folder).glob(pattern)) if folder else []


@pytest.mark.parametrize(
    "file",
    [*(file for file in EXAMPLES.glob("*.yaml") if file.stem != "site"), *published("v2/**/*.yaml")],
    ids=lambda file: file.stem,
)
def test_schema_and_model_agree_about_real_files(file: Path) -> None:
    try:
        value = next(iter(yaml.safe_load_all(file.read_text(encoding="utf-8"))))
    except yaml.YAMLError:
        return
    by_model, by_schema = accepts("v2", value)
    assert by_model == by_schema


@pytest.mark.parametrize("file", published("v1/*.json"), ids=lambda file: file.stem)
def test_schema_and_model_agree_about_real_files_of_v1(file: Path) -> None:
    by_model, by_schema = accepts("v1", read(file.read_bytes(), file=file.name).root)
    assert by_model == by_schema

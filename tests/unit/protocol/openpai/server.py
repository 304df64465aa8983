"""Tell what OpenPAI's server said of a job: its schema (schema.yaml), then what a schema cannot say.

It knows no virtual clusters, storages and SKUs: which there are is the site's. What its controller and the runtime in
the containers refused later is not its answer.
Source: the reference of OpenPAI's semantics, 1.3, 2.7 and 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any

import jsonschema
import yaml

SCHEMA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("schema.yaml").read_text(encoding="utf-8"))
SELECTED = {"dockerImage": "dockerimage", "data": "data", "output": "output", "script": "script"}
TAG = re.compile(r"<%(.*?)(%>|\Z)", re.DOTALL)


@cache
def validator(protocol: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{protocol}"})


def refusal(job: Any) -> str:
    """Return why the server refused a job, "" for one that it accepted."""
    protocol = "v1" if isinstance(job, dict) and "protocolVersion" not in job else "v2"
    schema = next((error.message for error in validator(protocol).iter_errors(job)), "")
    return schema or next(_of_v1(job) if protocol == "v1" else _of_v2(job), "")


def _of_v2(job: dict[str, Any]) -> Iterator[str]:
    prerequisites = [(each["type"], each["name"]) for each in job.get("prerequisites", ())]
    deployments = {each["name"]: each for each in job.get("deployments", ())}
    default = job.get("defaults", {}).get("deployment")
    if len({*prerequisites}) < len(prerequisites) or len(deployments) < len(job.get("deployments", ())):
        yield "a name is there twice"
    roles = job["taskRoles"]
    if not isinstance(roles, dict):  # JavaScript finds no keys in numbers, true, false and what is empty
        if roles is None or (isinstance(roles, (str, list)) and roles):
            yield "task roles that are no mapping"
        return
    for role in roles.values():
        if not {*role.get("prerequisites", ())} <= {name for _, name in prerequisites}:
            yield "a prerequisite that is listed does not exist"
        if any(key in role and (kind, role[key]) not in prerequisites for key, kind in SELECTED.items()):
            yield "a prerequisite that is selected does not exist"
    if default is not None and default not in deployments:
        yield "the default deployment does not exist"
    active = deployments[default]["taskRoles"] if default is not None else {}
    if not isinstance(active, (dict, list)):
        yield "roles of a deployment that are no mapping"
    for name, role in roles.items():
        around = active.get(name, {}) if isinstance(active, dict) else {}
        items = [*around.get("preCommands", ()), *role["commands"], *around.get("postCommands", ())]
        yield from _unrendered("\n".join(item.strip() for item in items))
    for each in job.get("prerequisites", ()):
        for value in each.get("auth", {}).values() if each["type"] == "dockerimage" else ():
            yield from (
                _unrendered(value or "") if isinstance(value, (str, NoneType)) else ["credentials that are no text"]
            )


def _unrendered(text: str) -> Iterator[str]:
    """Yield what mustache.js refuses: a tag without an end, and sections that do not pair."""
    sections: list[str] = []
    for inside, end in TAG.findall(text):
        kind, name = inside.strip()[:1], inside.strip()[1:].strip()
        if not end:
            yield "an unclosed tag"
        elif kind in ("#", "^"):
            sections.append(name)
        elif kind == "/" and (not sections or sections.pop() != name):
            yield "a section that was not opened"
    if sections:
        yield "an unclosed section"


def _of_v1(job: dict[str, Any]) -> Iterator[str]:
    for role in job["taskRoles"]:
        tasks, memory, shm = (
            float(role.get(key, at)) for key, at in (("taskNumber", 1), ("memoryMB", 100), ("shmMB", 64))
        )
        for key in ("minFailedTaskCount", "minSucceededTaskCount"):
            if float(role.get(key, key.startswith("minFailed")) or 0) > tasks:
                yield f"{key} is not one of its tasks"
        if "shmMB" in role and shm > memory:
            yield "shmMB is above memoryMB"
    if float(job.get("retryCount", 0)) < -2:
        yield "retryCount is below -2"

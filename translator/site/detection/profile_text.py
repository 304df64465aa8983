"""A detected site as the text of a profile, with comments for its maintainer."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from ...times import elapsed_text
from ...validation.strict_model import StrictModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..partitions import Partition
    from ..profile import Site
    from .answers import Detection

WIDTH = 110
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*|\d\d\.\d\d\.\d+(?:rc)?|\d+-\d\d:\d\d:\d\d", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some YAML parsers do not read as text. Source: YAML 1.1, types."""
_HEAD = (
    "`paislurm site detect` wrote this profile from the output of Slurm. Edit it as needed: "
    "docs/reference/site-profile.md describes every key; `paislurm schema site` is a schema for editors."
)
_METHODS = {"getent": "getent", "node-address": "nodeAddress"}


def profile_text(detection: Detection) -> str:
    """Return the profile; its values read back equal the site."""
    return "\n\n".join("\n".join(part) for part in _parts(detection) if part) + "\n"


def _parts(detection: Detection) -> Iterator[list[str]]:
    site, remarks = detection.site, detection.remarks

    def comments(key: str) -> list[str]:
        return [line for remark in remarks.get(key, ()) for line in comment(remark)]

    yield comment(_HEAD)
    first = (("name", site.name), ("host", site.host), ("slurmVersion", site.slurm_version))
    yield [f"{key}: {flow(text)}" for key, text in first if text]
    scheduler = {"type": site.scheduler.type, **keys_of(site.scheduler)}
    said = comment("SchedulerType, bf_interval and enable_expedited_requeue of Slurm.")
    yield [*said, f"scheduler: {flow(scheduler)}"]
    if site.partitions:
        rows = [line for each in site.partitions.values() for line in _partition(each)]
        yield [*comments("partitions"), "partitions:", *rows]
    if site.default_partition:
        yield [f"defaultPartition: {flow(site.default_partition)}"]
    if site.require_time_limit:
        yield [*comments("requireTimeLimit"), "requireTimeLimit: true"]
    yield [*comments("gpus"), *([f"gpus: {flow(site.gpus)}"] if keys_of(site.gpus) else [])]
    clusters = _rows("virtualClusters", site.virtual_clusters) if site.virtual_clusters else []
    yield [*comments("virtualClusters"), *clusters]
    if site.accounts is not None:
        yield [*comments("accounts"), *_accounts(site)]
    if site.reservations is not None:
        yield [*comments("reservations"), f"reservations: {flow(site.reservations)}"]
    yield [*comment("How tasks find the address of a node."), f"address: {_METHODS[site.address.method]}"]
    yield [*comments("ports"), f"ports: {{first: {site.ports.first}, last: {site.ports.last}}}"]
    yield [*comment("KillWait of Slurm."), f"time: {{killWait: {int(site.time.kill_wait.total_seconds())}}}"]
    if site.mpi is not None:
        yield [*comments("mpi"), f"mpi: {flow(site.mpi)}"]
    yield comments("probe")
    if site.infiniband is not None:
        yield ["infiniband:", *(f"  {key}: {flow(value)}" for key, value in keys_of(site.infiniband).items())]
    if site.containers.installed is not None:
        yield [
            *comment("Container runtimes of the node. To run tasks in one, add it here as `runtime`."),
            f"containers: {flow(site.containers)}",
        ]
    elif detection.runtimes:
        found = f"This machine has {', '.join(detection.runtimes)}; no node was probed. If the nodes have"
        yield [
            *comment(f"{found} the first too, remove the `#`."),
            f"# containers: {{runtime: {detection.runtimes[0]}}}",
        ]
    if detection.gaps:
        gaps = (f"# - {shown(f'{gap.key}: {gap.reason}; run: {gap.command}')}" for gap in detection.gaps)
        yield ["# Not detected:", *gaps]


def _partition(partition: Partition) -> Iterator[str]:
    found = keys_of(partition)
    yield f"  {flow(partition.name)}:" if found else f"  {flow(partition.name)}: {{}}"
    if partition.nodes:
        yield "    nodes:"
        yield from (f"      - {flow(shape)}" for shape in partition.nodes)
    yield from (f"    {key}: {flow(value)}" for key, value in found.items() if key != "nodes")


def _accounts(site: Site) -> Iterator[str]:
    """Yield the accounts and the QOS of a site, each on one line."""
    yield from _rows("accounts", site.accounts or {})
    if site.default_account:
        yield f"defaultAccount: {flow(site.default_account)}"
    if site.qos is not None:
        yield from _rows("qos", site.qos)


def _rows(key: str, table: Mapping[str, StrictModel]) -> list[str]:
    return [f"{key}:" if table else f"{key}: {{}}", *(f"  {flow(name)}: {flow(each)}" for name, each in table.items())]


def keys_of(model: StrictModel) -> dict[str, object]:
    """Return the values of a model that differ from their defaults, by key."""
    values = {model.key(name): (getattr(model, name), field) for name, field in type(model).model_fields.items()}
    return {key: value for key, (value, field) in values.items() if field.is_required() or value != field.default}


def flow(value: object) -> str:
    """Return a value as YAML on one line; text is quoted if it could be read as another type."""
    if isinstance(value, StrictModel):
        value = keys_of(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(key)}: {flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, (bool, int)):
        return str(value).lower()
    text = elapsed_text(int(value.total_seconds())) if isinstance(value, timedelta) else str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def comment(text: str) -> list[str]:
    """Return a text as comment lines of at most `WIDTH` characters."""
    return textwrap.wrap(
        shown(text), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False, break_long_words=False
    )


def shown(text: str) -> str:
    """Return the text on one line, with control characters escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]

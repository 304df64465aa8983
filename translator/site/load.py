"""Loading of site profiles: from YAML to a `Site`, or to one error with all diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import Diagnostic, Location, ProtocolError, Severity, SiteError
from ..reading.read import read
from ..validation.diagnostics import DiagnosticCollector
from ..validation.schema_errors import Wording, parse_model
from .layers import layered
from .policies import check_exit_spec, check_notifications
from .profile import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..reading.document import Document, Path

_FIRST_CODE = 450
"""The first code for faults of a profile's form: E450, E451 and so on."""
_OF_JOBS = ("protocolVersion", "taskRoles", "jobName")
_WORDING = Wording(
    missing={
        "memoryMB": "add `memoryMB: 1024`; the unit is MiB",
        "cpus": "add `cpus: 1`",
    },
    elsewhere={
        **dict.fromkeys(("nodes", "timeLimit"), "move it into one of the `partitions`"),
        **dict.fromkeys(("cpus", "memoryMB", "gpuType", "features"), "move it under `nodes` of a partition"),
    },
)


def load_site(text: str | bytes, *, file: str) -> Site:
    """Return the site of a single profile, without the files that it `extends`.

    Raises `SiteError` with all errors.
    """
    return load_layers([read_layer(text, file=file)])


def read_layer(text: str | bytes, *, file: str) -> Document:
    """Return the content of a profile. Raises `SiteError` if it is not YAML."""
    try:
        return read(text, file=file)
    except ProtocolError as error:
        # The usual hint for an empty file concerns job files.
        raise SiteError(replace(f, hint="") if f.code == "E111" else f for f in error.diagnostics) from None


def load_layers(layers: Sequence[Document]) -> Site:
    """Return the site of merged profiles, the lowest first. Raises `SiteError` with all errors."""
    if layers and any(key in layers[-1].mapping(()) for key in _OF_JOBS):
        raise SiteError(_job_file(layers[-1]))
    document, faults = layered(layers)
    collector = DiagnosticCollector(document)
    collector.extend(faults)
    profile = parse_model(Site, collector, codes=_FIRST_CODE, wording=_WORDING)
    for layer in layers:
        if layer.secrets is not None:
            where = layer.location(())
            collector.add("E113", (), "a site profile is one document, without `---`", location=where)
    _check_partitions(profile, collector)
    check_exit_spec(profile.exit_spec, collector)
    check_notifications(profile.notifications, collector)
    first, last = profile.ports.first, profile.ports.last
    if first and last and first > last:
        message = f"the last port {last} is below the first port {first}"
        collector.add("E462", ("ports",), message)
    if errors := collector.of(Severity.ERROR):
        raise SiteError(errors)
    return profile.known()


def _job_file(document: Document) -> Diagnostic:
    message = "this looks like a job file, not a site profile"
    hint = "write a site profile with `paislurm site detect --output FILE`"
    return Diagnostic(code="E641", message=message, location=Location(file=document.file), hint=hint)


def _check_partitions(profile: Site, collector: DiagnosticCollector) -> None:
    """Add a diagnostic for each unlisted partition, if the profile lists any."""
    listed = profile.partitions
    for name in listed:
        if not name or not name.isprintable() or any(char.isspace() or char in "\"'\\,#" for char in name):
            message = f"expected the name of a partition, found {name!r}"
            collector.add("E453", ("partitions", name), message, key=True)
        for position, shape in enumerate(listed[name].nodes):
            if shape.gpu_types and (shape.gpus or shape.gpu_type):
                message = "`gpuTypes` cannot be used with `gpus` and `gpuType`: write all GPUs under one of them"
                collector.add("E453", ("partitions", name, "nodes", position, "gpuTypes"), message, key=True)
    named: list[tuple[Path, str | None]] = [(("defaultPartition",), profile.default_partition)]
    named += [
        (("virtualClusters", name, "partition"), each.partition) for name, each in profile.virtual_clusters.items()
    ]
    for path, wanted in named:
        for name in wanted.split(",") if wanted and listed else ():
            if name not in listed:
                message = f"`partitions` does not list `{name}`"
                collector.add("E461", path, message, near=(name, listed))

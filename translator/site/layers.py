"""Layers of site profiles, the lowest first: each overrides those below it, except for locked keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, get_origin

from msgspec.structs import replace

from ..errors import Severity
from ..protocol.extras_slurm import SlurmCompat
from ..reading.document import Document
from ..validation.diagnostics import DiagnosticCollector, near_hint
from ..validation.partial_model import is_model
from ..validation.schema_errors import inside
from ..validation.strict_model import key_of
from .profile import Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..errors import Diagnostic, Location
    from ..reading.document import Path, Value


EXTENDS, LOCKED = "extends", "locked"


class LayeredDocument(Document, frozen=True, kw_only=True):
    """Several profiles merged; the location of each value is in the uppermost profile that has it."""

    layers: tuple[Document, ...] = ()

    def location(self, path: Path, *, key: bool = False) -> Location:
        """Return the location of the value at `path`, or of the nearest enclosing value."""
        return self.layer_of(path).location(path, key=key)

    def layer_of(self, path: Path) -> Document:
        """Return the profile with the value at `path`, or with the nearest enclosing value."""
        for length in range(len(path), 0, -1):
            for layer in reversed(self.layers):
                if path[:length] in layer.spans:
                    return layer
        return self.layers[-1]


def layered(layers: Sequence[Document]) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return the merged profiles, and diagnostics of their locks. A single profile stays as it is."""
    root: Value = layers[0].root
    found = [*_unknown_locks(layers[0])]
    locked = locks_of(layers[0])
    for upper in layers[1:]:
        above = _merged(root, upper.root)
        found += (*_unknown_locks(upper), *_broken_locks(locked, root, above, layers, upper))
        root = above
        locked = tuple(dict.fromkeys((*locked, *locks_of(upper))))
    if len(layers) == 1:
        return layers[0], tuple(found)
    top = layers[-1]
    if isinstance(root, Mapping) and locked and _has_valid_locks(top):
        root = {**root, LOCKED: list(locked)}
    return LayeredDocument(
        file=top.file,
        root=root,
        spans=top.spans,
        lines=top.lines,
        shown=top.shown,
        secrets=top.secrets,
        layers=tuple(layers),
    ), tuple(found)


def locks_of(layer: Document) -> tuple[str, ...]:
    """Return the keys that a profile locks."""
    return tuple(text for _, text in layer.texts((LOCKED,)))


def only_locked(layers: Sequence[Document]) -> tuple[Document, ...]:
    """Return the profiles with only their locked values and the locks; these apply below any other profile."""
    locks = [LOCKED, *(lock for layer in layers for lock in locks_of(layer))]
    return tuple(replace(layer, root=_locked_part(layer.root, (), locks)) for layer in layers)


def _locked_part(value: Value, path: tuple[str, ...], locks: Sequence[str]) -> Value:
    if any(covers(lock, path) for lock in locks) or not isinstance(value, Mapping):
        return value
    above = {tuple(lock.split(".")[: len(path) + 1]) for lock in locks}
    return {key: _locked_part(inner, (*path, key), locks) for key, inner in value.items() if (*path, key) in above}


def covers(lock: str, key: Sequence[str]) -> bool:
    """Whether a lock covers a key, directly or through an enclosing mapping."""
    steps = lock.split(".")
    return list(key[: len(steps)]) == steps


def _has_valid_locks(layer: Document) -> bool:
    """Whether the locks of a profile are missing or a list of texts; other locks are kept for a later error."""
    value = layer.mapping(()).get(LOCKED, [])
    return isinstance(value, list) and len(value) == len(locks_of(layer))


def _merged(lower: Value, upper: Value) -> Value:
    """Return a value over another: merge mappings key by key, replace all else."""
    if not isinstance(lower, Mapping) or not isinstance(upper, Mapping):
        return upper
    return {**lower, **{key: _merged(lower[key], value) if key in lower else value for key, value in upper.items()}}


def _broken_locks(
    locked: Sequence[str], lower: Value, above: Value, layers: Sequence[Document], upper: Document
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each locked key that a profile changes."""
    collector = DiagnosticCollector(upper)
    for lock in locked:
        steps = tuple(lock.split("."))
        path = _changed(_at(lower, steps), _at(above, steps), steps)
        if path is None:
            continue
        by = next(layer for layer in layers if lock in locks_of(layer))
        position = locks_of(by).index(lock)
        where = by.location((LOCKED, position))
        collector.add(
            "E466",
            path,
            f"`{'.'.join(map(str, path))}` is locked by {where.file}, line {where.line}",
            hint="remove it here: the lock applies to every profile",
            key=True,
        )
    yield from collector.of(Severity.ERROR)


_NOTHING = object()


def _at(root: Value, steps: Sequence[str]) -> object:
    """Return the value at a path, `_NOTHING` if there is none."""
    value: object = root
    for step in steps:
        if not isinstance(value, Mapping) or step not in value:
            return _NOTHING
        value = value[step]
    return value


def _changed(below: object, above: object, path: Path) -> Path | None:
    """Return the path of the first value that differs, None if all are equal."""
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        for key, value in above.items():
            if (found := _changed(below.get(key, _NOTHING), value, (*path, key))) is not None:
                return found
        return None
    return None if isinstance(below, bool) == isinstance(above, bool) and below == above else path


def _unknown_locks(layer: Document) -> Iterator[Diagnostic]:
    collector = DiagnosticCollector(layer)
    for path, lock in layer.texts((LOCKED,)):
        kinds: list[object] = [Site]
        known: list[str] = []
        for step in lock.split("."):
            models = [kind for kind in kinds if is_model(kind)]
            known = [key_of(model, name) for model in models for name in model.model_fields]
            kinds = [inner for kind in kinds if get_origin(kind) not in (list, tuple) for inner in inside(kind, step)]
            if not kinds:
                hint = near_hint(step, known) or "use a key of `paislurm schema site`, such as `containers.runtime`"
                collector.add("E469", path, f"`{lock}` is not a key of a site profile", hint=hint)
                break
    yield from collector.of(Severity.ERROR)


_EXTRAS: Path = ("extras", "slurm")
_CLUSTERS = "virtualClusters"
_NAMES: tuple[Path, ...] = (("defaults", "virtualCluster"), ("virtualCluster",))
"""The paths of the virtual cluster in jobs of protocol v2 and v1."""
_OF_CLUSTERS = ("partition", "account", "qos", "reservation")
_OVERRIDDEN = ("layout", "workdir", "binding", "preflight", "avoidNodes", "retryWith")
"""Keys of a profile that are keys of `extras.slurm`, too."""


def locked_options(document: Document, site: Site, virtual_cluster: str) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each job setting, `extras.slurm` or the virtual cluster, that conflicts with a lock.

    A job may set keys of a locked mapping that the profile does not set.
    """
    collector = DiagnosticCollector(document)
    for path, key, wanted in (*_choices(site), *_targets(document, site, virtual_cluster)):
        lock = next((lock for lock in site.locked if covers(lock, key)), None)
        asked = document.at(path)
        if lock is not None and asked is not None and asked != wanted:
            shown = str(wanted).lower() if isinstance(wanted, bool) else wanted
            message = f"the site locks `{'.'.join(key)}` to {shown}"
            collector.add("E467", path, message, hint=f"remove `{path[-1]}`")
    if _CLUSTERS in site.locked and site.virtual_clusters and site.virtual_cluster(virtual_cluster) is None:
        # Otherwise it would be a partition of that name, without the settings of the site's virtual clusters.
        hint = f"use one of {', '.join(site.virtual_clusters)}"
        for path in (path for path in _NAMES if document.at(path) is not None):
            collector.add("E467", path, f"the site locks `{_CLUSTERS}`, which has no `{virtual_cluster}`", hint=hint)
    tables = [_EXTRAS, *((*_EXTRAS, "taskRoles", role) for role in document.mapping((*_EXTRAS, "taskRoles")))]
    for lock, table in product(site.locked, tables):
        steps = tuple(lock.split("."))
        path = (*table, *steps)
        # `preflight: true` asks for the site's own checks.
        if steps[0] in _OVERRIDDEN and document.at(path) not in (None, True, site.layout, site.workdir):
            collector.add("E467", path, f"the site locks `{lock}`", hint=f"remove `{steps[-1]}`")
    return collector.of(Severity.ERROR)


def locked_target(site: Site, virtual_cluster: str, option: str) -> str | None:
    """Return the value to which the site locks an option of jobs in a virtual cluster, None if it does not."""
    value: str | None = getattr(site.virtual_cluster(virtual_cluster), option, None)
    return value if any(covers(lock, (_CLUSTERS, virtual_cluster, option)) for lock in site.locked) else None


def _choices(site: Site) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield each compat option of a job: its path, the key of the profile, and the profile's value."""
    for name in SlurmCompat.model_fields:
        key = SlurmCompat.key(name)
        yield (*_EXTRAS, "compat", key), ("compat", key), getattr(site.compat_options, name)


def _targets(document: Document, site: Site, name: str) -> Iterator[tuple[Path, tuple[str, ...], object]]:
    """Yield the same for the target of a virtual cluster."""
    cluster = site.virtual_cluster(name)
    tables = [_EXTRAS, *((*_EXTRAS, "taskRoles", role) for role in document.mapping((*_EXTRAS, "taskRoles")))]
    for option in _OF_CLUSTERS:
        value = getattr(cluster, option, None)
        if value is not None:
            yield from (((*table, option), (_CLUSTERS, name, option), value) for table in tables)

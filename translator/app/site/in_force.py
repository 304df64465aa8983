"""The site profile in force: each setting with the place that it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...site.layers import layered
from ...site.load import load_layers
from ...site.settings import settings
from ..input.sites import found_by, origin_of, profile_layers, site_path

if TYPE_CHECKING:
    from ..session import Session

Origin = Literal["user", "system", "detected", "named", "extended", "default"]


class SettingInForce(Struct, frozen=True, kw_only=True):
    """A setting of the site profile in force."""

    setting: str
    """The key of the site profile, `retry.maxRestarts`."""
    value: str
    """The value as a profile has it."""
    origin: Origin
    """Where the setting comes from; `named` is by `--site` or `$PAISLURM_SITE`."""
    file: str | None
    """The profile that has the setting; None for a default."""
    line: int | None
    """The line in that file, from 1."""
    locked: bool
    """Whether the site profile locks the setting."""


class SiteInForce(Struct, frozen=True, kw_only=True):
    """The site profile in force."""

    file: str | None
    """The site profile; None where there is none and all is default."""
    found_by: str | None
    """Why this site profile is the one that is used."""
    in_force: tuple[SettingInForce, ...]
    """The settings in force."""


def site_in_force(session: Session, site: str | None = None) -> SiteInForce:
    """Return every setting in force and where it comes from. `site` is a profile, None for the one found unnamed.

    Raises SiteError for a profile that is wrong or missing.
    """
    path, layers = site_path(session, site), profile_layers(session, site)
    if layers:
        load_layers(layers)
    origins = {layer.file: origin_of(session, site, layer.file) for layer in layers} | {"": "default"}
    rows = tuple(
        SettingInForce(
            setting=each.key,
            value=each.value,
            origin=origins[each.file],  # type: ignore[arg-type]
            file=each.file or None,
            line=each.line or None,
            locked=each.locked,
        )
        for each in settings(layered(layers)[0] if layers else None)
    )
    return SiteInForce(file=str(path) if path else None, found_by=found_by(session, site) or None, in_force=rows)


def layers_text(session: Session, site: str | None = None) -> str:
    """Return which profiles are below the one in force, as the end of a sentence; "" where there are none."""
    extended = [layer.file for layer in reversed(profile_layers(session, site, alone=True)[:-1])]
    held = [layer.file for layer in reversed(profile_layers(session, site)[:-1]) if layer.file not in extended]
    adds = f"; it adds to {', then '.join(extended)}" if extended else ""
    return adds + (f"; what {' and '.join(held)} locks holds" if held else "")

"""The active site profile: each setting with its source."""

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
    """A setting of the active site profile."""

    setting: str
    """The key of the site profile, `retry.maxRestarts`."""
    value: str
    """The value, in the format of a profile."""
    origin: Origin
    """The source of the setting; `named` means `--site` or `$PAISLURM_SITE`."""
    file: str | None
    """The profile with the setting; None for a default."""
    line: int | None
    """The line in that file, from 1."""
    locked: bool
    """Whether the site profile locks the setting."""


class SiteInForce(Struct, frozen=True, kw_only=True):
    """The active site profile."""

    file: str | None
    """The file of the profile; None if all settings are defaults."""
    found_by: str | None
    """Why this profile is active."""
    in_force: tuple[SettingInForce, ...]
    """The active settings."""


def site_in_force(session: Session, site: str | None = None) -> SiteInForce:
    """Return every active setting with its source. `site` is a profile; default: the usual search.

    Raises SiteError for a wrong or missing profile.
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
    """Return the profiles below the active one, as the end of a sentence; "" without any."""
    extended = [layer.file for layer in reversed(profile_layers(session, site, alone=True)[:-1])]
    held = [layer.file for layer in reversed(profile_layers(session, site)[:-1]) if layer.file not in extended]
    adds = f"; it extends {', then '.join(extended)}" if extended else ""
    return adds + (f"; the locks of {' and '.join(held)} apply" if held else "")

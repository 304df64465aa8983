"""Detect a site profile from Slurm, write it, and show the active one with the source of each setting."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...errors import ProtocolError
from ...files.private import make_private, write_durably
from ...reading.read import read
from ...site.layers import layered
from ...site.load import load_layers
from ...site.settings import settings
from ..paths import write_output
from .find import found_by, origin_of, profile_layers, read_at_most, site_path

if TYPE_CHECKING:
    from ..session import Session


# A site's profile is for all users to read, and for one of them to write.
MODE, FOLDER_MODE = 0o644, 0o755
OLD = ".old"


class NotLearnt(Struct, frozen=True, kw_only=True):
    """A setting that the detection could not determine."""

    setting: str
    """The key of the site profile, `partitions.NAME.nodes`."""
    reason: str
    """Why it is unknown."""
    ask: str | None
    """A command that shows the value."""


class DetectedSite(Struct, frozen=True, kw_only=True):
    """A detected site profile, and the result of writing its file."""

    file: str | None
    """The file of the profile; None without `--output`."""
    text: str
    """The site profile."""
    written: bool
    """Whether the file was written."""
    difference: str | None
    """The difference of an existing file to the detected profile, in the format of `diff -u`."""
    kept_as: str | None
    """The file with the replaced profile."""
    not_learnt: tuple[NotLearnt, ...]
    """Settings that the detection could not determine."""

    @property
    def outcome(self) -> str:
        """The result of writing, in a sentence."""
        if self.written:
            return f"wrote {self.file}" + (f"; the old file is {self.kept_as}" if self.kept_as else "")
        if self.difference:
            return f"{self.file} was not changed: it differs from Slurm's configuration. Edit it, or use --force"
        return f"{self.file} agrees with Slurm's configuration"


class Written(Struct, frozen=True, kw_only=True):
    """The result of writing: `difference` compares the existing file with the new text in the format of `diff -u`."""

    written: bool
    difference: str = ""
    kept_as: str = ""


def write_profile(path: Path, text: str, *, force: bool) -> Written:
    """Write a profile unless the existing file differs; with `force`, keep that as FILE.old."""
    old = read_at_most(path) if path.is_file() else b""
    difference = "" if not old or _has_all_settings(old, text) else _difference(path, old, text)
    if old and not (difference and force):
        return Written(written=False, difference=difference)
    kept = path.with_name(f"{path.name}{OLD}") if old else None
    if kept:
        write_durably(kept, old, MODE)
    make_private(path.parent, FOLDER_MODE)
    write_output(path, text.encode(), mode=MODE)
    return Written(written=True, difference=difference, kept_as=str(kept or ""))


def _has_all_settings(old: bytes, text: str) -> bool:
    """Return whether a file has every key of the new text with the same value; comments and other keys are ignored."""
    try:
        settings = read(old, file="").root
    except ProtocolError:
        return False
    wanted = read(text, file="").mapping(())
    return isinstance(settings, dict) and all(settings.get(key) == value for key, value in wanted.items())


def _difference(path: Path, old: bytes, text: str) -> str:
    before = old.decode(errors="replace").splitlines()
    lines = difflib.unified_diff(before, text.splitlines(), str(path), "detected profile", lineterm="")
    return "".join(f"{line}\n" for line in lines)


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

"""Search for the site profile: `--site`, `$PAISLURM_SITE`, the user's over the system's, a detected one, or none."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Diagnostic, PlanError
from ...reading.decode import MAX_FILE
from ..paths import this_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...reading.document import Document
    from ...site.profile import Site
    from ..session import Session
    from .extended import Refuses


SYSTEM = Path("/etc/paislurm/site.yaml")


def find_site(
    session: Session,
    option: str | None,
    *,
    host: str | None = None,
    alone: bool = False,
    refuses: Refuses | None = None,
) -> Site:
    """Load the active site profile; default: safe defaults.

    A profile found by the search is for the local cluster, unless it sets `host`. A named profile must respect the
    locks of the system's, except with `alone`. `refuses` as in `layers_of`.
    """
    from ...site.profile import Site

    path = site_path(session, option)
    site = _load(session, path, option, alone=alone, refuses=refuses) if path is not None else Site.of()
    if host is not None:
        _check_locks(session, site, option, host)
    if _is_for(session, site, option, host):
        return site
    detected = detected_path(session, host)
    return _load(session, detected, None) if _is_ours(detected) else Site.of()


def _check_locks(session: Session, site: Site, option: str | None, host: str) -> None:
    """Raise PlanError for a login node other than the locked one, or without a profile that sets the locked cluster."""
    is_for = _is_for(session, site, option, host)
    wanted = {"host": host, "cluster": site.cluster if is_for else ""}
    for key, value in wanted.items():
        locked = getattr(site, key)
        if key in site.locked and value != locked:
            message = f"the site locks `{key}`, which is {locked or 'not set'}: cannot submit on the login node {host}"
            hint = f"omit `--host`{', or use that login node' if key == 'host' and locked else ''}"
            raise PlanError(Diagnostic(code="E467", message=message, hint=hint))


def profile_files(session: Session, option: str | None, *, host: str | None = None) -> tuple[Path, ...]:
    """Return the files that `find_site` loads, the extending one first."""
    path = site_path(session, option)
    if path is not None and (host is None or _is_for(session, _load(session, path, option), option, host)):
        return tuple(Path(layer.file) for layer in reversed(profile_layers(session, option)))
    detected = None if host is None else detected_path(session, host)
    return (detected,) if detected and _is_ours(detected) else ()


def profile_option(session: Session, files: Sequence[str]) -> str | None:
    """Return the profile of a submit for `--site`; None if the usual search finds it.

    `files` are the absolute paths of the profile, the extending one first.
    """
    unnamed = profile_files(session, None) if len(files) > 1 else ()
    if unnamed and [os.path.realpath(file) for file in files] == [os.path.realpath(path) for path in unnamed]:
        return None
    detected = f"{os.path.abspath(detected_path(session).parent)}/"  # noqa: PTH100 - as it was named, links and all
    return next((file for file in files if not file.startswith(detected)), None)


def _is_for(session: Session, site: Site, option: str | None, host: str | None) -> bool:
    """Return whether a profile is for the cluster of a login node; None means the local cluster."""
    return host is None or site.host == host or is_named(session, option)


def _load(
    session: Session, path: Path, option: str | None, *, alone: bool = False, refuses: Refuses | None = None
) -> Site:
    from ...site.load import load_layers

    return load_layers(_layers(session, path, option, alone=alone, refuses=refuses))


def profile_layers(session: Session, option: str | None, *, alone: bool = False) -> tuple[Document, ...]:
    """Return the active profile and those below it, the lowest first; empty without a profile."""
    path = site_path(session, option)
    return _layers(session, path, option, alone=alone) if path is not None else ()


def _layers(
    session: Session, path: Path, option: str | None, *, alone: bool, refuses: Refuses | None = None
) -> tuple[Document, ...]:
    """Return a profile over the system's: a user's own extends it, a named one only keeps its locks.

    Profiles in the system's folder are the administrator's, and extend nothing by default.
    """
    from .extended import layers_of

    is_held = is_named(session, option) and not alone and path.parent != SYSTEM.parent
    is_above = is_held or (not is_named(session, option) and path == user_path(session))
    below = SYSTEM if is_above and SYSTEM.is_file() else None
    return layers_of(session, path, below, _why_named(session, option), locks_alone=is_held, refuses=refuses)


def is_named(session: Session, option: str | None) -> bool:
    """Return whether the user named the profile for this call."""
    return bool(option or session.setting("PAISLURM_SITE"))


def read_at_most(path: Path) -> bytes:
    """Return the contents of a file, cut just above the limit: `/dev/full` has no end."""
    with path.open("rb") as file:
        return file.read(MAX_FILE + 1)


def hint_at_profile(session: Session, site: Site) -> None:
    """Send a hint about the use of a profile if there is none."""
    if not site.is_known:
        session.say_once(
            "note: no site profile was found, so the job is not compared with the cluster's nodes and partitions. "
            f"To detect them: `paislurm site detect --output {user_path(session)}`"
        )


def site_path(session: Session, option: str | None) -> Path | None:
    """Return the profile's file, None without one. A named file must exist."""
    named = option or session.setting("PAISLURM_SITE")
    if named:
        return Path(named)
    written = next((path for path in (user_path(session), SYSTEM) if path.is_file()), None)
    return written or (detected_path(session) if _is_ours(detected_path(session)) else None)


def _why_named(session: Session, option: str | None) -> str:
    """Return how the user named the profile, "" if the search found it."""
    if option:
        return "--site named it"
    return "$PAISLURM_SITE named it" if is_named(session, option) else ""


def origin_of(session: Session, option: str | None, file: str | None = None) -> str:
    """Return the origin of a file of the profile in one word, "" without a profile.

    Default for `file`: the extending one.
    """
    path = site_path(session, option)
    if path is None or (file is not None and Path(file) not in (path, SYSTEM)):
        return "extended" if path else ""
    if is_named(session, option) and file in (None, str(path)):
        return "named"
    if file == str(SYSTEM) or path == SYSTEM:
        return "system"
    return "detected" if path == detected_path(session) else "user"


def found_by(session: Session, option: str | None) -> str:
    """Return why this profile is active; "" without one."""
    named = "named by --site" if option else "named by $PAISLURM_SITE"
    reasons = {"named": named, "detected": "detected by `submit`", "system": "the system's", "user": "your own"}
    return reasons.get(origin_of(session, option), "")


def user_path(session: Session) -> Path:
    """Return the path of the user's own profile."""
    if sys.platform != "linux":
        from platformdirs import user_config_path

        return user_config_path("paislurm") / "site.yaml"
    above = (session.setting("XDG_CONFIG_HOME") or "").strip() or session.expanded("~/.config")
    return Path(above) / "paislurm" / "site.yaml"


def detected_path(session: Session, host: str | None = None) -> Path:
    """Return the path of the profile that `submit` detected, for this machine or for a remote login node."""
    home = session.setting("PAISLURM_HOME") or "~/.paislurm"
    name = this_host() if host is None else f"ssh-{host}"
    return Path(session.expanded(home), "detected-site", f"{name}.yaml")


def _is_ours(path: Path) -> bool:
    """Return whether a file exists that only this user can write: profiles name programs to run."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022

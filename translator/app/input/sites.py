"""Which site profile is used: `--site`, `$PAISLURM_SITE`, the user's over the system's, a detected one, or none."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Diagnostic, PlanError
from ...reading.decode import MAX_FILE

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
    """Load the profile that is to be used; without one, the safe defaults.

    One that was not named is of the cluster here, unless it says of which `host` it is. One that was named is held to
    the locks of the system's, but for `alone`. `refuses` as in `layers_of`.
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
    """Raise PlanError for a login node that is not the locked one, or of which no profile says the locked cluster."""
    is_for = _is_for(session, site, option, host)
    wanted = {"host": host, "cluster": site.cluster if is_for else ""}
    for key, value in wanted.items():
        locked = getattr(site, key)
        if key in site.locked and value != locked:
            message = f"the site locks `{key}`, which is {locked or 'not set'}: no job goes to the login node {host}"
            hint = f"leave `--host` out{', or name that login node' if key == 'host' and locked else ''}"
            raise PlanError(Diagnostic(code="E467", message=message, hint=hint))


def profile_files(session: Session, option: str | None, *, host: str | None = None) -> tuple[Path, ...]:
    """Return the files that `find_site` loads, the one first that adds to the others."""
    path = site_path(session, option)
    if path is not None and (host is None or _is_for(session, _load(session, path, option), option, host)):
        return tuple(Path(layer.file) for layer in reversed(profile_layers(session, option)))
    detected = None if host is None else detected_path(session, host)
    return (detected,) if detected and _is_ours(detected) else ()


def profile_option(session: Session, files: Sequence[str]) -> str | None:
    """Return the profile that a job was submitted with as `--site` would name it; None where it is found unnamed.

    `files` are those of the profile by absolute paths, the one first that adds to the others; none is as one unnamed.
    """
    unnamed = profile_files(session, None) if len(files) > 1 else ()
    if unnamed and [os.path.realpath(file) for file in files] == [os.path.realpath(path) for path in unnamed]:
        return None
    detected = f"{os.path.abspath(detected_path(session).parent)}/"  # noqa: PTH100 - as it was named, links and all
    return next((file for file in files if not file.startswith(detected)), None)


def _is_for(session: Session, site: Site, option: str | None, host: str | None) -> bool:
    """Tell whether a profile is of the cluster behind a login node, None for the one here."""
    return host is None or site.host == host or is_named(session, option)


def _load(
    session: Session, path: Path, option: str | None, *, alone: bool = False, refuses: Refuses | None = None
) -> Site:
    from ...site.load import load_layers

    return load_layers(_layers(session, path, option, alone=alone, refuses=refuses))


def profile_layers(session: Session, option: str | None, *, alone: bool = False) -> tuple[Document, ...]:
    """Return the profiles that are in force together, the lowest first; none where there is none."""
    path = site_path(session, option)
    return _layers(session, path, option, alone=alone) if path is not None else ()


def _layers(
    session: Session, path: Path, option: str | None, *, alone: bool, refuses: Refuses | None = None
) -> tuple[Document, ...]:
    """Return a profile over the system's: a user's own adds to that, one that is named keeps what that locks.

    Those beside the system's are the administrator's, and stand alone.
    """
    from .extended import layers_of

    is_held = is_named(session, option) and not alone and path.parent != SYSTEM.parent
    is_above = is_held or (not is_named(session, option) and path == user_path())
    below = SYSTEM if is_above and SYSTEM.is_file() else None
    return layers_of(path, below, _why_named(session, option), locks_alone=is_held, refuses=refuses)


def is_named(session: Session, option: str | None) -> bool:
    """Tell whether the profile is one that the user names for this call."""
    return bool(option or session.setting("PAISLURM_SITE"))


def read_at_most(path: Path) -> bytes:
    """Return what is in a file, of one that is too large just enough for that to be seen: `/dev/full` has no end."""
    with path.open("rb") as file:
        return file.read(MAX_FILE + 1)


def hint_at_profile(session: Session, site: Site) -> None:
    """Say what a profile would be good for, where there is none."""
    if not site.is_known:
        session.say_once(
            "hint: no site profile, so nothing is known of the cluster's nodes and partitions; "
            f"`paislurm site detect --output {user_path()}` describes them"
        )


def site_path(session: Session, option: str | None) -> Path | None:
    """Return the profile's file, None where there is none. One that was named must be there."""
    named = option or session.setting("PAISLURM_SITE")
    if named:
        return Path(named)
    written = next((path for path in (user_path(), SYSTEM) if path.is_file()), None)
    return written or (detected_path(session) if _is_ours(detected_path(session)) else None)


def _why_named(session: Session, option: str | None) -> str:
    """Say how the profile was named, "" where it was found."""
    if option:
        return "it was named by --site"
    return "it was named by $PAISLURM_SITE" if is_named(session, option) else ""


def origin_of(session: Session, option: str | None, file: str | None = None) -> str:
    """Return in a word where a file of the profile comes from, "" where there is none.

    Without a `file` that is the one which adds to the others.
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
    """Say why the profile is the one that is used; "" where there is none."""
    named = "named by --site" if option else "named by $PAISLURM_SITE"
    reasons = {"named": named, "detected": "what Slurm said to `submit`", "system": "the system's", "user": "your own"}
    return reasons.get(origin_of(session, option), "")


def user_path() -> Path:
    """Return where the user's own profile is."""
    if sys.platform != "linux":
        from platformdirs import user_config_path

        return user_config_path("paislurm") / "site.yaml"
    above = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")  # noqa: PTH111
    return Path(above) / "paislurm" / "site.yaml"


def detected_path(session: Session, host: str | None = None) -> Path:
    """Return where `submit` keeps what Slurm says of the site, of this machine or of a login node elsewhere."""
    home = session.setting("PAISLURM_HOME") or "~/.paislurm"
    name = this_host() if host is None else f"ssh-{host}"
    return Path(os.path.expanduser(home), "detected-site", f"{name}.yaml")  # noqa: PTH111


def this_host() -> str:
    """Return the name of this machine as a part of a file's name."""
    return re.sub(r"[^\w.-]", "_", os.uname().nodename, flags=re.ASCII)


def _is_ours(path: Path) -> bool:
    """Tell whether a file is there that nobody else can have written: a profile names programs that are run."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022

"""What may be meant by the name of a file that cannot be read."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from itertools import islice
from pathlib import Path

from ...errors import nearest

_MOST = 1000
"""Names of a folder that are looked at."""
_ENDINGS = (".yaml", ".yml", ".json")


def hint_at_files(file: str, error: OSError) -> str:
    """Return the hint at a file that cannot be read: a near name, or one in it if it is a folder; "" for none."""
    if not file:
        return "its name is empty: is a variable of the shell not set?"
    path = Path(file)
    if error.errno == errno.EISDIR:
        inside = [name for name in _names(path) if name.endswith(_ENDINGS)]
        return f"it is a folder: name a file in it, such as `{path / min(inside)}`" if inside else "it is a folder"
    if error.errno == errno.ENOTDIR or (error.errno == errno.ENOENT and not path.parent.is_dir()):
        return f"there is no folder `{path.parent}`"
    if error.errno != errno.ENOENT:
        return ""
    rows = sorted(
        (each.suffix in _ENDINGS, each.suffix == path.suffix, each) for each in map(Path, _names(path.parent))
    )
    stems = {each.stem: each for *_, each in rows}
    near = nearest(path.stem, stems)
    return (
        f"did you mean `{path.parent / stems[near]}`?"
        if near
        else f"no file in `{path.parent.absolute()}` has such a name"
    )


def _names(folder: Path) -> list[str]:
    """Return the names of the first files in a folder that are not hidden."""
    with suppress(OSError), os.scandir(folder) as found:
        return [each.name for each in islice(found, _MOST) if each.name[0] != "." and each.is_file()]
    return []

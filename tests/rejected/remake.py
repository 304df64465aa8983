"""Say what is wrong with each file of this folder; as a script, write that down beside it.

`<code>-<what>.yaml` is a job file, `<code>-<what>.json` one of protocol v1, and `site-<code>-<what>.yaml` a site
profile. Comment lines at the top of a job file, `# --set key=value` and `# --name name`, are the command line that
goes with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.translator.errors import PaislurmError, diagnostics_text
from paislurm.translator.protocol.validate import validate
from paislurm.translator.reading.read import read
from paislurm.translator.site.load import load_site

if TYPE_CHECKING:
    from paislurm.translator.errors import Diagnostic

FOLDER = Path(__file__).parent
FILES = sorted(
    each for suffix in ("yaml", "json") for each in FOLDER.glob(f"*.{suffix}") if re.match(r"(site-)?[EW]\d", each.name)
)


def diagnostics_of(file: Path) -> tuple[Diagnostic, ...]:
    """Return the errors of a file, or the warnings of one that has none."""
    source = file.read_bytes()
    head = source.decode("utf-8", errors="replace")
    try:
        if file.name.startswith("site-"):
            load_site(source, file=file.name)
            return ()
        checked = validate(
            read(source, file=file.name),
            parameters=dict(re.findall(r"^(?:#|//) --set (\w+)=(.*)$", head, re.MULTILINE)),
            name=next(iter(re.findall(r"^(?:#|//) --name (.*)$", head, re.MULTILINE)), None),
        )
    except PaislurmError as error:
        return error.diagnostics
    return tuple(checked.warnings)


def said_of(file: Path) -> str:
    """Return the diagnostics of a file as the user reads them."""
    found = diagnostics_of(file)
    return f"{diagnostics_text(found)}\n" if found else ""


def remake() -> None:
    """Write what is said of each file beside it."""
    for file in FILES:
        file.with_suffix(".txt").write_text(said_of(file), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    remake()

"""A folder that the login host sees as through NFS: late. The stand-in is bindfs, a FUSE file system, not NFS itself.

It mounts the folder over itself, in a mount namespace in which one program runs. There the kernel keeps the attributes
of files, and names that are missing, for some seconds, as NFS's attribute cache does; the nodes write beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.instance import require_privilege

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SCRIPT = """
bindfs -f -o "attr_timeout=$1,entry_timeout=$1,negative_timeout=$2" "$3" "$3" & bindfs=$!
until mountpoint -q "$3"; do sleep 0.1; done
shift 3
"$@" & program=$!
trap 'kill $program' TERM
wait $program
status=$?
kill $bindfs
wait
exit $status
"""


def behind(folder: Path, attributes: float, missing: float, argv: Sequence[str]) -> list[str]:
    """Return the command line of a program that sees a folder so; root's, who keeps `attributes` and `missing` names.

    Both are seconds. The process that becomes this command is in the namespace: others enter it by its id.
    """
    require_privilege("a mount of one process")
    words = ["sh", "-c", _SCRIPT, "sh", str(attributes), str(missing), str(folder)]
    return ["unshare", "--mount", "--propagation=private", *words, *argv]


def beside(pid: int, argv: Sequence[str]) -> list[str]:
    """Return the command line of a program in the namespace of such a process, as root."""
    return ["nsenter", f"--target={pid}", "--mount", *argv]

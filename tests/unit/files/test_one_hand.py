"""Files are made, written, renamed and removed in one room; each exception has its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from paislurm.backends.base import RunFolder
from paislurm.backends.ssh.news import NewsRequest
from paislurm.translator.files import names

ROOT = Path(__file__).parents[3]
ROOMS = ("translator/state", "translator/monitor", "translator/app", "translator/site", "backends")
MODULES = {"os", "shutil", "tempfile"}
OF_MODULES = {
    "chmod", "chown", "copy", "copy2", "copyfile", "copytree", "fchmod", "link", "makedirs", "mkdir", "mkdtemp",
    "mkfifo", "mkstemp", "move", "NamedTemporaryFile", "open", "remove", "removedirs", "rename", "replace", "rmdir",
    "rmtree", "symlink", "TemporaryDirectory", "truncate", "unlink", "utime",
}  # fmt: skip
OF_PATHS = {
    "chmod", "hardlink_to", "mkdir", "open", "rename", "rmdir", "symlink_to", "touch", "unlink", "write_bytes",
    "write_text",
}  # fmt: skip
NAMED = "a person names the file, which may be a pipe"
SLURM = "it stands in for Slurm: the files of the job are srun's and slurmd's, which follow the umask and links"
EXCEPTIONS = {
    "backends/slurm_emulator/records.py": "writes into the space that is reserved for the last record",
    "backends/slurm_emulator/srun.py": SLURM,
    "backends/slurm_emulator/srun_options.py": SLURM,
    "backends/slurm_emulator/supervisor.py": SLURM,
    "backends/ssh/fabric_transport.py": "on the login node, by SFTP",
    "backends/ssh/mirrored.py": "by descriptors of folders in which tasks may have planted links",
    "translator/app/input/secret_files.py": NAMED,
    "translator/app/sites/find.py": NAMED,
    "translator/app/jobs/job_sites.py": "the terminal",
    "translator/app/paths.py": NAMED,
    "translator/app/rehearsal/rehearsing.py": "a new name below a private folder",
    "translator/app/rehearsal/resuming.py": "links below a private folder",
    "translator/app/sites/ask.py": "a file that nobody reads: a node looks for its name",
    "translator/state/ended_jobs.py": "asks the file server for a time by opening, and reads nothing",
    "translator/state/kept_script.py": "unpacks an open file",
    "translator/state/address.py": "makes folders in a new private one",
    "translator/state/folder_removal.py": "removes whole job folders",
}


def effects(tree: ast.AST) -> Iterator[str]:
    """Yield the calls with effects on files by their names, and all that open a file by its name."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="open" | "rmtree" | "mkdtemp")):
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)) if module in MODULES:
                if name in OF_MODULES and "os.devnull" not in ast.unparse(node):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr=name)) if name in OF_PATHS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
                yield ast.unparse(node)


def test_files_are_changed_in_one_room() -> None:
    found = {
        str(path.relative_to(ROOT)): calls
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if (calls := list(effects(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert {file: calls for file, calls in found.items() if file not in EXCEPTIONS} == {}
    assert EXCEPTIONS.keys() - found.keys() == set(), "exceptions that are no more"


def test_the_docs_have_every_name_of_a_run_folder() -> None:
    page = (ROOT / "docs/reference/run-folder.md").read_text(encoding="utf-8")
    values = [value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)]
    assert [value for value in values if not re.search(rf"(^|[\s`/]){re.escape(value)}([\s`/,]|$)", page)] == []


def test_all_that_a_script_reports_is_copied_from_a_login_node() -> None:
    """A list of these names with one missing has hidden each stall from users of login nodes."""
    assert {names.STALL, names.RESULT, names.CLAIM} <= {*names.OF_ATTEMPT}
    copied = RunFolder(folder=Path("/"), job="demo", tag="paislurm-1", attempt=0).names
    assert copied == NewsRequest(folder="").names == names.OF_ATTEMPT

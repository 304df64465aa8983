"""Ctrl-C, at any moment: a word or none, and no traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

from paislurm.translator.cli import main as main_module

from .running import Runner


def test_ctrl_c_exits_with_130(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_module.cli, "invoke", Mock(side_effect=KeyboardInterrupt))
    assert (run("list").code, run("list").out) == (130, "")
    said = run("list", "--json")
    assert (said.code, json.loads(said.out)["exit_status"]) == (130, 130)


@pytest.mark.parametrize(
    ("module", "code", "said"),
    [
        ("click", -signal.SIGINT, ""),
        ("paislurm.translator.cli.command_group", -signal.SIGINT, ""),
        ("paislurm.translator.cli.commands.showing.list", 130, "interrupted\n"),
    ],
)
def test_ctrl_c_during_imports_prints_no_traceback(module: str, code: int, said: str) -> None:
    """It ends the process, as it does any other program; while a command loads it is reported."""
    hook = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # whatever started the tests may ignore it
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from paislurm.translator.cli.start import run\n"
        "sys.argv = ['paislurm', 'list']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", hook], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)

"""What the program sets for itself stays in its process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
from paislurm.translator.cli import main, start
def run(environment):
    print(os.environ.get("PYDANTIC_DISABLE_PLUGINS"), environment.get("PYDANTIC_DISABLE_PLUGINS"))
    print(main.OutputMode([], environment, json=False).session.environment.get("PYDANTIC_DISABLE_PLUGINS"))
    sys.exit()
main.run = run
start.run()
"""


@pytest.mark.parametrize(("given", "own"), [(None, "__all__"), ("logfire", "logfire")])
def test_plugins_of_pydantic_are_off_here_and_as_the_user_says_elsewhere(given: str | None, own: str) -> None:
    name = "PYDANTIC_DISABLE_PLUGINS"
    environment = {
        **{key: value for key, value in os.environ.items() if key != name},
        **({name: given} if given else {}),
    }
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [own, str(given), str(given)]

"""`python -m paislurm` runs the program."""

from __future__ import annotations

from .translator.cli.start import run

if __name__ == "__main__":
    run()

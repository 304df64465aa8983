"""Fuzz the compiler: any bytes at all are a script or an error with faults, in seconds and in bounded memory.

    python -m tests.fuzz.compile -max_total_time=60 CORPUS...

libFuzzer writes what breaks it to `crash-*`, `timeout-*` or `oom-*`. Source: libFuzzer, options.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["paislurm"]):
    from paislurm.translator.errors import PaislurmError
    from paislurm.translator.pipeline import compile_job


def compile_anything(data: bytes) -> None:
    """Compile bytes: what is no `PaislurmError` is a find."""
    try:
        compiled = compile_job(data)
    except PaislurmError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            assert diagnostic.message
    else:
        assert "\0" not in compiled.script


if __name__ == "__main__":
    atheris.Setup(sys.argv, compile_anything)
    atheris.Fuzz()

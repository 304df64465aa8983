"""Make the plan and the script of each case; as a script, write them down beside the job file.

A case is a folder with `job.yaml` or `job.json` and perhaps `site.yaml`. `job.sbatch` is the head of its script; the
last line names the parts of the runtime that follow, which have tests of their own.
"""

from __future__ import annotations

from pathlib import Path

from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.rendering.runtime_bundle import SEAL
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Site

FOLDER = Path(__file__).parent
CASES = sorted(file.parent for pattern in ("*/job.yaml", "*/job.json") for file in FOLDER.glob(pattern))


def source(case: Path) -> Path:
    """Return the job file of a case."""
    return next(file for name in ("job.yaml", "job.json") if (file := case / name).exists())


def compiled(case: Path) -> Compiled:
    profile = case / "site.yaml"
    site = load_site(profile.read_bytes(), file=profile.name) if profile.exists() else Site()
    file = source(case)
    return compile_job(file.read_bytes(), file=file.name, site=site, version="1.0")


def whole_script(case: Path) -> str:
    """Return the script of a case with the runtime in it."""
    return compiled(case).script


def made(case: Path) -> dict[str, str]:
    """Return the text of each golden file of a case, as it comes out now."""
    found = compiled(case)
    head, seal, runtime = found.script.partition(SEAL)
    assert seal
    uses = runtime.partition(": the same ")[2].partition(" ----")[0]
    warnings = "".join(f"{fault.code}: {fault.message}\n" for fault in found.warnings)
    return {
        "plan.txt": plan_text(found.plan) + "\n" * bool(warnings) + warnings,
        "job.sbatch": f"{head}# ---- paislurm runtime: the same {uses} ----\n",
    }


def remake() -> None:
    """Write all of them down."""
    for case in CASES:
        for name, text in made(case).items():
            (case / name).write_bytes(text.encode(errors="surrogateescape"))


if __name__ == "__main__":
    remake()

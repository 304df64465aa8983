"""Make the plan and the script of each case; as a script, write them down.

A case is a folder with `job.yaml` or `job.json` and perhaps `site.yaml`. `job.sbatch` is the head of its script; the
last line names the parts of the runtime that follow, which have tests of their own. The job of the folder `containers`
is a case for each container runtime, in a folder of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paislurm.translator.pipeline import Compiled, compile_job
from paislurm.translator.planning.plan_text import plan_text
from paislurm.translator.rendering.runtime_bundle import SEAL
from paislurm.translator.site.containers import CONTAINER_RUNTIMES
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Site

FOLDER = Path(__file__).parent
CONTAINERS = FOLDER / "containers"


@dataclass(frozen=True)
class Case:
    """Hold the folder of what is expected, a job file, and the text of a site profile, "" for none."""

    folder: Path
    job: Path
    site: str

    @property
    def name(self) -> str:
        return self.folder.name


def _cases() -> list[Case]:
    jobs = [file for pattern in ("*/job.yaml", "*/job.json") for file in FOLDER.glob(pattern)]
    cases = [Case(file.parent, file, _text(file.parent / "site.yaml")) for file in jobs if file.parent != CONTAINERS]
    for runtime in CONTAINER_RUNTIMES.values():
        image = "/images/debian" + ("" if runtime.reads_folders else runtime.image_files[0])
        site = _text(CONTAINERS / "site.yaml").replace("RUNTIME", runtime.name).replace("IMAGE", image)
        cases.append(Case(CONTAINERS / runtime.name, CONTAINERS / "job.yaml", site))
    return sorted(cases, key=lambda case: case.name)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


CASES = _cases()


def compiled(case: Case) -> Compiled:
    site = load_site(case.site, file="site.yaml") if case.site else Site.of()
    return compile_job(case.job.read_bytes(), file=case.job.name, site=site, version="1.0")


def whole_script(case: Case) -> str:
    """Return the script of a case with the runtime in it."""
    return compiled(case).script


def made(case: Case) -> dict[str, str]:
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
        case.folder.mkdir(exist_ok=True)
        for name, text in made(case).items():
            (case.folder / name).write_bytes(text.encode(errors="surrogateescape"))


if __name__ == "__main__":
    remake()

"""Change right jobs in one place, everywhere and in many ways, and ask OpenPAI's server and paislurm about each.

    python -m tests.unit.protocol.openpai.mutations [NUMBER]

goes through all changes and as many pairs of them as NUMBER says, and prints what the page of stricter rules lacks.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from paislurm.translator.errors import Diagnostic, PaislurmError
from paislurm.translator.pipeline import compile_job
from paislurm.translator.protocol.v2.extras_schema import PLUGINS

from .page import is_listed
from .server import refusal

Steps = tuple[str | int, ...]
JOBS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("jobs.yaml").read_text(encoding="utf-8"))
VALUES: list[Any] = [
    None, True, False, "", " ", "x", "two words", "~", "a.b", "é", "a" * 300, "a\nb", "2", "no", "2020-01-01",
    -3, -2, -1, 0, 1, 2, 99, 1.5, 10_001, 65_536, 2**31, 1e300,
    [], ["x"], [1], [None], [{}], {}, {"x": 1}, {"x": None}, {"a b": "x"}, {"1": "x"},
    "<% $parameters.nothing %>", "<% $parameters.rate", "<% $parameters %>", "<%# a %><%/ a %>",
    "{{FC_TASK_INDEX}}", "/bin/bash",
]  # fmt: skip
"""What is put in the place of any value."""
GONE = object()
_NAMED = re.compile(
    r"(^extras\.hivedScheduler\.taskRoles|^(?:deployments\[\d+\]\.)?taskRoles|\.ports|^parameters|^secrets|^jobEnvs"
    r'|\.logdir|\.auth)(\.[^.\[]+|\["[^"]*"\])'
)
"""Mappings whose keys are names that the user chooses."""


def mutants(job: dict[str, Any]) -> Iterator[tuple[Steps, Any]]:
    """Yield every change of a job: where, and the value there."""
    names = sorted({each for _, each in places(job) if isinstance(each, str) and each.isalnum()})
    for path, value in places(job):
        around = at(job, path[:-1])
        beside = around.values() if isinstance(around, dict) else around
        mappings = [each for each in beside if isinstance(each, dict) and each is not value]
        for other in (*VALUES, *similar(value, names, mappings), GONE):
            yield path, other


def similar(value: Any, names: list[str], mappings: list[dict[str, Any]]) -> list[Any]:
    """Return values of the same kind that are another; `names` are all of the job, `mappings` those beside it."""
    if isinstance(value, str):
        texts = (f"{value} ", f" {value}", value * 2, value.upper(), f"{value}\n", f"{value} <% $parameters.no %>")
        return [*names, *([each] for each in names), *texts, f"{value} <%", f"<%! x %>{value}"]
    if isinstance(value, (int, float)):
        return [str(value), f" {value} ", value + 0.5, -value, value * 1000]
    if isinstance(value, list):
        return [value * 2, value[::-1], *([*value, each] for each in (None, "x", {}, *value)), dict(enumerate(value))]
    if not isinstance(value, dict):
        return []
    more = [{**value, "unknown": each} for each in (None, 1, "x", [], {}, {"x": "y"})]
    renamed = [
        {(new if key == old else key): each for key, each in value.items()}
        for old in value
        for new in (old.upper(), f"{old}_", f"1{old}", "x.y", "_")
    ]
    twice = [{**value, new: each} for key, each in value.items() for new in (key.upper(), f"{key}_")]
    return [
        *more,
        *renamed,
        *twice,
        *({**each, **value} for each in mappings),
        *({**value, **each} for each in mappings),
        [value],
    ]


def places(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Yield the path and the value of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in items:
        yield (*path, step), each
        yield from places(each, (*path, step))


def at(value: Any, path: Steps) -> Any:
    for step in path:
        value = value[step]
    return value


def changed(job: dict[str, Any], path: Steps, value: Any) -> dict[str, Any]:
    """Return a copy of a job in which a value is another, as a file would have it."""
    root = copy.deepcopy(job)
    around = at(root, path[:-1])
    if value is GONE:
        del around[path[-1]]
    else:
        around[path[-1]] = copy.deepcopy(value)
    copied: dict[str, Any] = json.loads(json.dumps(root))
    return copied


def reported(job: dict[str, Any]) -> list[Diagnostic]:
    """Return what paislurm says of a job."""
    try:
        return list(compile_job(json.dumps(job, indent=1)).warnings)
    except PaislurmError as error:
        return list(error.diagnostics)


def kind(diagnostic: Diagnostic) -> tuple[str, str]:
    """Return the code of a diagnostic, and its path as pages write it."""
    return diagnostic.code, as_on_pages(diagnostic.path)


def as_on_pages(path: str) -> str:
    """Return a path as pages write it: `taskRoles.NAME.commands`."""
    path = path.removeprefix("$").removeprefix(".").replace(f'["{PLUGINS}"]', f".{PLUGINS}")
    return re.sub(r"\[\d+\]", "", _NAMED.sub(r"\1.NAME", path))


def judged(job: dict[str, Any], usual: set[tuple[str, str]]) -> tuple[bool, list[Diagnostic]]:
    """Return whether paislurm takes a job that the server refused, and what it says more than `usual` of another."""
    found = reported(job)
    if refusal(job):
        return not any(each.code[0] == "E" for each in found), []
    return False, [each for each in found if kind(each) not in usual]


def main(pairs: int) -> None:
    chooser = random.Random(pairs)
    for name, job in JOBS.items():
        usual = {kind(each) for each in reported(job)}
        changes = [*mutants(job)]
        jobs = [changed(job, *change) for change in changes]
        for _ in range(pairs):
            with suppress(KeyError, IndexError, TypeError):  # the second place may have gone with the first
                jobs.append(changed(changed(job, *chooser.choice(changes)), *chooser.choice(changes)))
        missing: dict[tuple[str, str], Diagnostic] = {}
        for each in jobs:
            laxer, found = judged(each, usual)
            if laxer:
                print("LAXER", refusal(each), json.dumps(each))
            missing |= {kind(one): one for one in found if not is_listed(*kind(one))}
        print(f"{name}: {len(jobs)} jobs, {len(missing)} kinds of diagnostics are not on the page")
        for where, diagnostic in missing.items():
            print(*where, diagnostic, sep="\n", end="\n\n", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 0)

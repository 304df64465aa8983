"""Bash reads back exactly what was put in, for any text, and runs nothing of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from paislurm.translator.pipeline import compile_job
from paislurm.translator.rendering.runtime_bundle import SEAL
from paislurm.translator.rendering.shell import comment, export, here_document, quote

from ..runtime.bash import library

SNIPPETS = st.sampled_from(
    [
        "'",
        '"',
        "`touch x`",
        "$(touch x)",
        "\n",
        "}",
        "END",
        "END_2",
        "\\",
        "$HOME",
        "<%",
        "%>",
        "EOF",
        "; touch x",
        "#",
        "&",
    ]
)
TEXTS = st.lists(SNIPPETS | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)).map("".join)
ALLOWED = st.characters(codec="utf-8", exclude_categories=("Cc", "Cn", "Cs"), exclude_characters="\ufeff")
IN_FILES = st.lists(SNIPPETS | st.text(ALLOWED, max_size=5)).map("".join)
"""Texts that a job file can hold as they are."""
MADE = settings(
    deadline=None,
    max_examples=15,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def bash(script: str, folder: Path) -> list[str]:
    """Run a script in an empty folder that stays empty, and return what it prints between NULs."""
    file = folder / "script"
    file.write_bytes(script.encode())
    (folder / "work").mkdir(exist_ok=True)
    done = subprocess.run(
        ["bash", str(file)], cwd=folder / "work", env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert list((folder / "work").iterdir()) == []
    return done.stdout.decode().split("\0")[:-1]


@MADE
@given(st.lists(TEXTS, min_size=50, max_size=50))
def test_quoted_words_are_unchanged_by_bash(tmp_path: Path, texts: list[str]) -> None:
    assert bash("".join(f"printf '%s\\0' {quote(text)}\n" for text in texts), tmp_path) == texts


@MADE
@given(st.lists(TEXTS, min_size=50, max_size=50))
def test_variables_are_quoted(tmp_path: Path, texts: list[str]) -> None:
    script = "".join(f"{export('X', text)}\nprintf '%s\\0' \"$X\"\n" for text in texts)
    assert bash(script, tmp_path) == texts


@MADE
@given(st.lists(TEXTS, min_size=50, max_size=50))
def test_here_documents_are_quoted(tmp_path: Path, texts: list[str]) -> None:
    """As commands stand in a script, and as the runtime reads them."""
    documents = []
    for text in texts:
        delimiter, body = here_document(text, "END")
        documents.append(f"cat_stdin <<'{delimiter}'\n{body}\n{delimiter}\nprintf '\\0'\n")
    found = bash(f"{library()}\n{''.join(documents)}", tmp_path)
    assert found == [f"{text}\n" for text in texts]


def test_no_line_of_a_here_document_is_its_delimiter() -> None:
    assert here_document("END\nEND_2\nEND_4", "END")[0] == "END_3"


@MADE
@given(st.lists(TEXTS, min_size=50, max_size=50))
def test_comments_are_single_lines(tmp_path: Path, texts: list[str]) -> None:
    assert bash("".join(f"# {comment(text)}\n" for text in texts) + "printf 'end\\0'\n", tmp_path) == ["end"]


@MADE
@given(st.lists(st.tuples(IN_FILES, IN_FILES, IN_FILES), min_size=10, max_size=10))
def test_whole_scripts(tmp_path: Path, drawn: list[tuple[str, str, str]]) -> None:
    """The parts of a script that hold a job's texts: read by bash, they say what the job said and do nothing."""
    for value, cluster, command in drawn:
        job = {
            "protocolVersion": 2,
            "name": "demo",
            "type": "job",
            "description": value,
            "prerequisites": [{"type": "dockerimage", "name": "image", "uri": "debian", "description": value}],
            "parameters": {"p": value},
            "defaults": {"virtualCluster": cluster},
            "taskRoles": {
                "w": {
                    "dockerImage": "image",
                    "resourcePerInstance": {"cpu": 1, "memoryMB": 1, "gpu": 0},
                    "commands": [f"{command.replace('<%', '')} <% $parameters.p %>."],
                }
            },
        }
        compiled = compile_job(json.dumps(job, ensure_ascii=False))
        head = compiled.script.partition(SEAL)[0] + library()
        show = "source <(job_environment); printf '%s\\0' \"$PAI_JOB_VC_NAME\""
        script = f"{head}\ncommands_of_role_0; printf '\\0'; {show}\n"
        assert bash(script, tmp_path) == [f"{compiled.job.roles[0].command.text}\n", cluster]


@pytest.mark.parametrize("text", ["\0", "a\0b"])
def test_nul_is_refused(text: str) -> None:
    for quoted in (quote, lambda text: here_document(text, "END")):
        with pytest.raises(ValueError, match="NUL"):
            quoted(text)

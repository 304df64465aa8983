"""Secrets in settings of plugins are data, whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from paislurm.translator.protocol.expressions.secrets import TAG
from paislurm.translator.rendering.head import _setting

from ..written_files import write_files
from .bash import run

if TYPE_CHECKING:
    import pytest

PRINT = """
PSL_SECRETS_FOLDER=$1/secrets
insert_secrets "$1/script"
printf -v TEXT %s "${PSL_PIECES[@]}"
eval "$TEXT"
printf "%s;%s" "$REPOSITORY" "${RAN-}"
"""
PIECES = st.lists(
    st.sampled_from(
        ["x", "'", '"', "\\", "$(RAN=1)", "`RAN=1`", "\n", "END_OF_VALUE", "RAN=1", TAG, " %>", "quoted", " ", "é"]
    )
).map("".join)


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(before=PIECES, secret=PIECES, after=PIECES)
@example(before="https://", secret="x'\nEND_OF_VALUE\nRAN=1\n", after="@host")
def test_a_secret_is_inserted_as_data(
    tmp_path_factory: pytest.TempPathFactory, before: str, secret: str, after: str
) -> None:
    # As the compiler leaves a job's own text that looks like a reference.
    shown = [text.replace(TAG, f"{TAG} %>") for text in (before, after)]
    script = _setting("REPOSITORY", f"{shown[0]}{TAG}token %>{shown[1]}")
    folder = tmp_path_factory.mktemp("case")
    write_files(folder, {"secrets/token": secret, "script": script})
    assert run(PRINT, str(folder)) == f"{before}{secret}{after};"

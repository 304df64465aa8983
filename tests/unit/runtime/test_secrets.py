"""Secrets in settings of plugins are data, whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paislurm.translator.protocol.expressions.secrets import TAG
from paislurm.translator.rendering.head import _setting

from .bash import run

if TYPE_CHECKING:
    from pathlib import Path

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
def test_a_secret_is_inserted_as_data(
    tmp_path_factory: pytest.TempPathFactory, before: str, secret: str, after: str
) -> None:
    check(tmp_path_factory.mktemp("case"), before, secret, after)


def test_a_secret_with_the_former_end_marker_is_inserted_as_data(tmp_path: Path) -> None:
    check(tmp_path, "https://", "x'\nEND_OF_VALUE\nRAN=1\n", "@host")


def check(folder: Path, before: str, secret: str, after: str) -> None:
    """Check what bash takes for the value of a plugin's setting."""
    (folder / "secrets").mkdir()
    (folder / "secrets" / "token").write_text(secret, encoding="utf-8")
    # As the compiler leaves a job's own text that looks like a reference.
    shown = [text.replace(TAG, f"{TAG} %>") for text in (before, after)]
    value = f"{shown[0]}{TAG}token %>{shown[1]}"
    (folder / "script").write_text(_setting("REPOSITORY", value), encoding="utf-8")
    assert run(PRINT, str(folder)) == f"{before}{secret}{after};"

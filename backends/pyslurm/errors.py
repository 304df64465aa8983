"""The error of a pyslurm that cannot be used here."""

from __future__ import annotations

from paislurm.translator.errors import Diagnostic, UnreachableError


class UnusableError(UnreachableError):
    """Report that pyslurm cannot be used here, now or later: Slurm's programs can."""


def unusable(message: str, hint: str = "") -> UnusableError:
    """Return the error for a pyslurm that cannot be used."""
    hint = hint or "`--backend slurm` asks Slurm's programs"
    return UnusableError(Diagnostic(code="E509", message=f"pyslurm cannot be used: {message}", hint=hint))

"""`paislurm ssh`: the same as `paislurm exec`."""

from .exec import command

__all__ = ["command"]

"""Completion of words for shells, from the same source as `--help`."""

"""Observations become decisions; the journal is the truth."""

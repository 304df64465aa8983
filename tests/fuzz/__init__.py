"""Fuzzing of what reads job files."""

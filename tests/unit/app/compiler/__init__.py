"""Use cases that read job files."""

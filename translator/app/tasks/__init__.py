"""Shells in running tasks, and connections to their ports."""

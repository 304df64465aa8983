"""Logs of tasks: their selection, their new contents, and their lines."""

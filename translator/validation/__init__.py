"""Strict models of files, and the diagnostics of their faults."""

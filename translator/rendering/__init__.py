"""Rendering: from a plan to a script."""

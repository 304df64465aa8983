"""A plan becomes a script."""

"""The backends, which run batch scripts."""

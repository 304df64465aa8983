"""Folders of ended jobs: tidying, removal and disk usage."""

"""Use cases for submitted jobs."""

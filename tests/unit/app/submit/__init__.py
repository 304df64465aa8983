"""Use cases that submit jobs."""

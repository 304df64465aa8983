"""Sweeps: groups of jobs with different parameter values (`submit --sweep`)."""

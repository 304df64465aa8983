"""Validation of job files in both protocols."""

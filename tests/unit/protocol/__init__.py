"""Tests of reading and validating job files."""

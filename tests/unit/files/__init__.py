"""Tests of the one hand on files."""

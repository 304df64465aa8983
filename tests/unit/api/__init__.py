"""Tests of what is the Python API."""

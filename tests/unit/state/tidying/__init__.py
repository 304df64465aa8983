"""Tests of what is written down about jobs."""

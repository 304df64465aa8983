"""Tests of what becomes of the folders of jobs that have ended."""

"""Tests of commands for jobs."""

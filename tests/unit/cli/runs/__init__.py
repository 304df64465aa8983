"""Tests of what is kept of submits."""

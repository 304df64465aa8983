"""Tests of `submit`."""

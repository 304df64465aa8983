"""Tests of the site profile."""

"""Tests of reports: what they say, and that nothing in them acts."""

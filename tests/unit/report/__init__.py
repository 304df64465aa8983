"""Tests of reports: their content, and escaping of text from jobs."""

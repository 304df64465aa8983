"""Tests of the documents of `--json` and of their schemas."""

"""Tests of what users can do, by calls."""

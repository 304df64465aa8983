"""Tests of the way to login nodes."""

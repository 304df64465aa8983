"""Tests that need no cluster."""

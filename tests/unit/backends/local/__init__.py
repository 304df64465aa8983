"""Tests of the local backend."""

"""Tests of scripts that are made."""

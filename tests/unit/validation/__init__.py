"""Tests of models, and of what is said of a wrong file."""

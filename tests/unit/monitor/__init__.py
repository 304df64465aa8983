"""Tests of what is written down about jobs, and of what is made of it."""

"""Tests of tidied and removed folders."""

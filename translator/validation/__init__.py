"""Strict models of files, and everything that is wrong with one, gathered."""

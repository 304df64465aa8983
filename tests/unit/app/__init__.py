"""Tests of the use cases that commands and clients share."""

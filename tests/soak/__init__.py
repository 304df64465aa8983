"""Soaks: what must stay flat while jobs come and go for a long time."""

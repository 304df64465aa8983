"""The calls of a client, by theme."""

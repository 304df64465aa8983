"""Job files of protocol v2."""

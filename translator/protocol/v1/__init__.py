"""Job files of protocol v1."""

"""Job files in: reading with positions, validation, template references."""

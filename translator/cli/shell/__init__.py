"""Shell completion, from the same definitions as `--help`."""

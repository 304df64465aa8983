"""What a shell and `man` are told of the command line, from the same source as `--help`."""

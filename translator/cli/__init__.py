"""The command line: commands that parse, call `app` and print."""

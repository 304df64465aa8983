"""The output of commands: messages, tables, views, exit codes."""

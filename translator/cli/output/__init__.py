"""What a command shows: messages, tables, views, exit codes."""

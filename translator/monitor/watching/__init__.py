"""What a monitor sees without a question to any backend: files, and its own CPU time."""

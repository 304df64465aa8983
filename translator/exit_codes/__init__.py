"""Exit codes: their meanings, the rules that assign them, and advice."""

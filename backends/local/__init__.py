"""The local backend, which runs batch scripts on this machine."""

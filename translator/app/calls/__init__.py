"""What a client can do, by theme."""

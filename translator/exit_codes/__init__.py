"""What an exit code means, and which failures become which."""

"""Poll backends, share their answers, and log the calls."""

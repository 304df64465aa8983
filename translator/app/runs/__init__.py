"""What jobs were submitted with: keeping it, submitting the same once more, and comparing two jobs."""

"""Use cases about the site and its nodes."""

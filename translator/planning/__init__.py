"""A job and a site become a plan."""

"""What a command is given: job files, secrets, site profiles."""

"""The input of commands: job files, secrets, site profiles."""

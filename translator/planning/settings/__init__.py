"""What the script is told of a job: settings, each with its meaning, its form, and where it comes from."""

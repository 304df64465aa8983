"""What is kept about a job: its folder, its journal, its results."""

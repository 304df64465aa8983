"""What is left of a job when it is over: tidied folders, removed ones, and how much room they take."""

"""The folders of jobs that have ended: tidied, removed, and how much room they take."""

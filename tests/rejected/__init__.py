"""One file for each fault, with what is said of it."""

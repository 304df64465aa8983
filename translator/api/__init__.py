"""The Python API: what the commands do, as functions that return what they find and print nothing."""

"""The use cases of the program. No module here prints."""

"""The text of a file becomes values, each with its position; they have no meaning yet."""

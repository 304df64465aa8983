"""Reading of files: text becomes values with positions."""

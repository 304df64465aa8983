"""Stand-ins for libraries: what is imported here has their names."""

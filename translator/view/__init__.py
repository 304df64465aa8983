"""How a job stands: the records that every face shows, and their text. Pure."""

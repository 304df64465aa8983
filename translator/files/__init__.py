"""The one hand on files: private folders, atomic writes, links, locks, bounded reads, and trust in paths."""

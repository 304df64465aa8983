"""The request to Slurm: targets, components, limits, and bugs of the site's version."""

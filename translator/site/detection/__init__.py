"""What Slurm says of a cluster becomes a site profile: text in, text out. Pure."""

"""What a cluster has and how it wants to be asked."""

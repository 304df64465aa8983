"""The site profile: model, reading, detection and comparison with the cluster."""

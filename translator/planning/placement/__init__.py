"""The placement of a job: which tasks run on which node, and near which GPUs and adapters. Pure."""

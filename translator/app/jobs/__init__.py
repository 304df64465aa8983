"""What commands do with jobs that were submitted."""

"""What can be done with job files and scripts without submitting them."""

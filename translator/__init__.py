"""The compiler: job files in, plans and scripts out."""

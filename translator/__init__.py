"""The compiler from job files to plans and batch scripts."""

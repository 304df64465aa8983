"""Reports as pages: what is read for them, their charts, and their HTML."""

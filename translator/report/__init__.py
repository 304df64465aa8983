"""Reports about jobs: their data, charts and HTML pages. Pure."""

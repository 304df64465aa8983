"""Enter a task that runs, or reach one of its ports."""

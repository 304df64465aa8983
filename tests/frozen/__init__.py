"""Recorded jobs, and what every view shows of them. Later changes of a verdict or a text show up in `shown`."""

"""The monitor: turn observations of jobs into records and actions."""

"""Where scripts run."""

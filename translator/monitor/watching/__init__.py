"""Watch job folders and the monitor's own CPU time, without polls."""

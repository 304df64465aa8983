"""Programs as users run them, in processes of their own, with jobs on this machine."""

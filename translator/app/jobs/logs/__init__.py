"""What tasks print: which logs are meant, what is new in them, and how lines of many tasks are shown."""

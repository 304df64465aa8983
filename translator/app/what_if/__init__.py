"""Answer what happens to a job in a scenario, by the functions that decide in earnest. Pure."""

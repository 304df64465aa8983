"""When a backend is asked, what it said last, and what that cost."""

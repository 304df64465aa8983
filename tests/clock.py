"""What time it is, as the program has it."""

import time


def clock() -> int:
    """Return the time in whole seconds since 1970."""
    return int(time.time())

"""Programs that run beside a test, and end with it."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def child(argv: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Run a program; kill it at the end if it still runs, whether the test has passed or failed.

    A `Popen` alone waits there for as long as the program runs, or leaves it to be complained of in another test.
    """
    with subprocess.Popen([str(word) for word in argv], **options) as process:
        try:
            yield process
        finally:
            process.kill()

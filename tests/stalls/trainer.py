"""Stands in for a training program: steps that all tasks take together, until one stalls on purpose.

Usage: trainer.py tcp|gloo RANK SIZE PORT VICTIM STEP KIND
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def stall(kind: str) -> None:
    """Stop moving, in the way that the name says."""
    if kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "pipe":
        reader = subprocess.Popen(["sleep", "9999"], stdin=subprocess.PIPE)
        assert reader.stdin is not None
        reader.stdin.write(b"x" * 1_000_000)
    elif kind.startswith("files:"):
        Path(kind.partition(":")[2], "stuck").read_bytes()
    elif kind == "sleep":
        time.sleep(9999)


def over_tcp(rank: int, size: int, port: int) -> Callable[[], None]:
    """Return a step in which rank 0 hears of every other rank, and then answers them."""
    if rank:
        while True:
            try:
                hub = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.1)

        def step() -> None:
            hub.sendall(b"x")
            hub.recv(1)

        return step
    listener = socket.create_server(("127.0.0.1", port))
    peers = [listener.accept()[0] for _ in range(1, size)]

    def lead() -> None:
        for peer in peers:
            peer.recv(1)
        for peer in peers:
            peer.sendall(b"x")

    return lead


def over_gloo(rank: int, size: int, port: int) -> Callable[[], None]:
    """Return a step that adds up a number over all ranks."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    return lambda: dist.all_reduce(torch.ones(10))


def main(kind: str, rank: int, size: int, port: int, victim: int, last: int, how: str) -> None:
    begun = threading.Event()

    def tell() -> None:
        while not begun.wait(0.5):
            print("begins", flush=True)

    threading.Thread(target=tell, daemon=True).start()
    step = (over_gloo if kind == "gloo" else over_tcp)(rank, size, port)
    for number in range(1_000_000):
        if rank == victim and number == last:
            Path("stalled.at").write_text(str(time.time()))
            if how == "barrier":
                import torch.distributed as dist

                dist.barrier()
            stall(how)
        step()
        begun.set()
        print(f"step {number}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:7]), sys.argv[7])

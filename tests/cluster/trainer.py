"""Stands in for tf_cnn_benchmarks.py: parameter servers that serve, workers that train with all servers and each other.

It is the code of the published jobs of protocol v1, so that it runs only where codeDir has been staged. Each task
binds the address and the port that the job gave it, and leaves a record of what it was told. Needs Python alone.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import time
from pathlib import Path

LONGEST = 60
"""Seconds for which a peer may be late."""


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("job_name", "ps_hosts", "worker_hosts", "data_dir", "train_dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--task_index", type=int, required=True)
    options, others = parser.parse_known_args()
    servers, workers = options.ps_hosts.split(","), options.worker_hosts.split(",")
    own = (servers if options.job_name == "ps" else workers)[options.task_index]
    with listening(own) as listener:
        leave_record(vars(options), others)
        if options.job_name == "ps":
            serve(listener, options.task_index)
        else:
            peers = [worker for worker in workers if worker != own]
            train(listener, servers, peers, Path(options.data_dir))
            (Path(options.train_dir) / f"model-{options.task_index}").write_text("trained\n")


def listening(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_server((host, int(port)))


def leave_record(options: dict[str, object], others: list[str]) -> None:
    """Write down options and variables, and give the code that tasks share no chance: each has its own copy."""
    task = f"{os.environ['PAI_CURRENT_TASK_ROLE_NAME']}-{os.environ['PAI_TASK_INDEX']}"
    Path(__file__).with_name("owner").open("x").write(task)
    path = Path(os.environ["STANDIN_LOG"], f"{task}.json")
    path.write_text(json.dumps({"options": options, "others": others, "environment": dict(os.environ)}))


def serve(listener: socket.socket, index: int) -> None:
    """Answer for ever, as the real one does: the job ends it."""
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(f"{index}\n".encode())


def train(listener: socket.socket, servers: list[str], peers: list[str], data: Path) -> None:
    assert (data / "data_batch_1").read_text() == "cifar10\n"
    for index, server in enumerate(servers):
        with connected(server) as connection:
            assert connection.makefile().readline() == f"{index}\n"
    connections = [connected(peer) for peer in peers]
    for _ in peers:
        listener.accept()[0].close()
    for connection in connections:
        connection.close()


def connected(address: str) -> socket.socket:
    """Return a connection to a peer that may not listen yet."""
    host, port = address.split(":")
    deadline = time.monotonic() + LONGEST
    connection = socket.socket()
    while error := connection.connect_ex((host, int(port))):
        assert time.monotonic() < deadline, f"{address}: {os.strerror(error)}"
        connection.close()
        time.sleep(0.05)
        connection = socket.socket()
    return connection


if __name__ == "__main__":
    main()

"""The preflight on real nodes: a bad node is named, the next attempt excludes it, and jobs on good nodes start."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.cluster.hosts import enter
from tests.cluster.jobs import ONE_ATTEMPT, role
from tests.cluster.processes import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.cluster import Cluster
    from tests.contract.site import Site

RETRIES = "retry: {maxTransientRetries: 3}\nmonitor: {background: false, maxPollInterval: 2}\n"
FIRST_IS_BAD = "mkdir bad && { echo $SLURMD_NODENAME >bad/node; echo link is down; exit 3; } 2>/dev/null; true"
"""Fail on the first node of all attempts."""
BY_SRUN = """
  [[ $PAISLURM_PAIR_RANK == 0 ]] || exit 0
  found=$(srun --overlap --mpi=none --nodes=2 --ntasks=2 --nodelist="$PAISLURM_PAIR_NODES" \\
    bash -c 'echo $SLURMD_NODENAME')
  [[ $(sort <<<"$found" | paste -sd,) == $(tr , '\\n' <<<"$PAISLURM_PAIR_NODES" | sort | paste -sd,) ]] || exit 1
  echo 12.5
"""


def extras(command: str = "", pairs: str = "") -> str:
    texts = {
        "check": ["disk", "clock"],
        **({"command": command} if command else {}),
        **({"pairs": pairs} if pairs else {}),
    }
    return json.dumps({"slurm": {"tasksPerNode": 1, "preflight": texts}})


def test_bad_node_is_named_and_excluded(site: Site, folder: Path) -> None:
    """A command fails on one of three nodes; in the next attempt, pairs run a step of their own on both nodes."""
    job = site.submit(folder, role("w", 3, "echo ran on $SLURMD_NODENAME"), extras(FIRST_IS_BAD, BY_SRUN), RETRIES)
    code, last = job.ended(attempt=1)
    first = json.loads((job.attempt() / "result.json").read_text())
    bad = (job.folder / "bad/node").read_text().strip()
    assert (code, last["outcome"]) == (0, "succeeded"), last["reason"]
    assert (first["exit_code"], first["behaviour"]) == (-1408, "transient")
    assert f"node {bad}: the preflight command ended with status 3: link is down" in first["reason"]
    assert [task["node"] for task in first["tasks"] if task["state"] == "FAILED"] == [bad]
    assert not [task for task in first["tasks"] if task["started_at"]]
    assert bad not in {task["node"] for task in last["tasks"]}
    answers = (job.attempt(1) / "srun/preflight.log").read_text()
    assert answers.count(" tried 0 12.5 ") == 3
    # Another job of the user starts elsewhere at once, if it asks for that.
    text = (
        job.file.read_text()
        .replace(f"name: {job.name}", "name: other")
        .replace('"preflight"', '"avoidNodes": {}, "preflight"')
    )
    # The ledger also has a node that the cluster no longer has.
    with (job.home / "nodes.jsonl").open("a") as ledger:
        ledger.write((job.home / "nodes.jsonl").read_text().splitlines()[-1].replace(f'"{bad}"', '"nowhere"') + "\n")
    site.write(job.folder, "other.yaml", text)
    other = replace(job, name="other")
    submitted = job.paislurm("submit", "other.yaml")
    assert (submitted.returncode, f"avoids bad nodes: {bad}\n" in submitted.stderr) == (0, True), submitted.stderr
    assert f"ExcNodeList={bad}\n" in site.run("scontrol", "show", "job", other.number).stdout.replace(" ", "\n")
    assert other.ended()[0] == 0
    assert {line.split()[0] for line in job.paislurm("nodes").stdout.splitlines()[1:]} == {"nowhere", bad}
    assert job.paislurm("nodes", "add", "nowhere").returncode == 2
    assert job.paislurm("nodes", "add", bad).returncode == 0


BANDWIDTH = """
  /usr/bin/python3 - <<'END'
  import os, socket, time
  get, piece = os.environ.get, bytes(1 << 16)
  port, is_second = int(get("PAISLURM_PAIR_PORT")), get("PAISLURM_PAIR_RANK") == "1"
  def send(link):
      begun = time.monotonic()
      while time.monotonic() - begun < 1:
          link.sendall(piece)
      link.shutdown(socket.SHUT_WR)
  def receive(link):
      total, begun = 0, time.monotonic()
      while got := len(link.recv(1 << 16)):
          total += got
      return total / (time.monotonic() - begun) / 1e6
  if is_second:
      link = socket.create_server(("", port)).accept()[0]
      rate = receive(link)
      link.sendall(b"%20.2f" % rate)
      send(link)
      exit()
  while True:
      try:
          link = socket.create_connection((get("PAISLURM_PAIR_PEER"), port))
          break
      except ConnectionRefusedError:
          time.sleep(0.1)
  send(link)
  there = float(link.recv(20, socket.MSG_WAITALL))
  print(f"{min(there, receive(link)):.2f}")
  END
""".replace("\n  ", "\n")
"""Print the megabytes a second that two nodes exchange, in the slower direction."""
ALL = "PartitionName=preflight"
SLOW = "qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 400ms"


@pytest.mark.exclusive
def test_slow_node_is_named_by_its_pairs(site: Site, folder: Path) -> None:
    """The link of one of eight nodes is slowed by the kernel (tc); without that, no node is named."""
    site.require("a link of a node")
    cluster = site.administrator
    node = cluster.nodes[4]
    cluster.admin(["scontrol", "create", ALL, f"Nodes={','.join(cluster.nodes)}", "State=UP"])
    try:
        settings = (
            f"{ONE_ATTEMPT}partitions: {{preflight: {{nodes: [{{count: {len(cluster.nodes)}, cpus: 16, "
            "memoryMB: 1000000}]}}\ndefaultPartition: preflight\nvirtualClusters: {default: {partition: preflight}}\n"
        )
        roles = role("w", len(cluster.nodes), "echo ran")
        tc(cluster, node, SLOW)
        try:
            code, result = site.submit(folder, roles, extras(pairs=BANDWIDTH), settings).ended()
        finally:
            tc(cluster, node, "qdisc del dev eth0 root")
        assert (code, result["exit_code"]) == (1, -1408), result["reason"]
        assert f"bad nodes: node {node}: all of its pairs are bad: " in result["reason"]
        assert [task["node"] for task in result["tasks"] if task["state"] == "FAILED"] == [node]
        code, result = site.submit(folder, roles, extras(pairs=BANDWIDTH), settings).ended()
        assert (code, result["outcome"]) == (0, "succeeded"), result["reason"]
    finally:
        cluster.cancel_all()
        # Slurm keeps a partition while a job in it is completing.
        wait_until(lambda: cluster.run(["scontrol", "delete", ALL], user="root").returncode == 0, "the partition stays")


def tc(cluster: Cluster, node: str, words: str) -> None:
    subprocess.run([*enter(cluster.instance, node), "tc", *words.split()], check=True, capture_output=True, timeout=60)


def test_commands_have_the_gpus_of_the_job(site: Site, folder: Path) -> None:
    """With a component for each role; the role without GPUs has none."""
    roles = role("a", 1, "true") + role("b", 1, "true").replace(
        "{cpu: 1, memoryMB: 100, gpu: 0}", "{cpu: 4, memoryMB: 100, gpu: 2}"
    )
    command = 'echo "${CUDA_VISIBLE_DEVICES-none}" | tee "seen-$SLURMD_NODENAME"'
    job = site.submit(
        folder, roles, json.dumps({"slurm": {"layout": "het", "preflight": {"check": ["clock"], "command": command}}})
    )
    code, result = job.ended()
    assert code == 0, result["reason"]
    gpus = {task["role"]: (job.folder / f"seen-{task['node']}").read_text().split()[0] for task in result["tasks"]}
    assert gpus["a"] in ("none", "NoDevFiles")
    assert len(gpus["b"].split(",")) == 2

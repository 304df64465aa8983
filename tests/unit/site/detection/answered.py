"""Answers for the detection: as recorded on real clusters, and small ones made up for a case.

`.venv/bin/python -m tests.unit.site.detection.answered` remakes the expected profile; read the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paislurm.translator.app.sites.ask import Machine, ask
from paislurm.translator.site.detection.answers import Answers, Detection
from paislurm.translator.site.detection.detect import detect
from paislurm.translator.site.detection.profile_text import profile_text

from ...backends.recording import Replay, read

EXPECTED = Path(__file__).with_name("expected.yaml")
VERSIONS = ("22.05", "24.11", "26.05")
MACHINE = Machine(runtimes=("charliecloud", "podman"), ephemeral_ports="32768\t60999")
CONFIG = "ClusterName = tiny\nSLURM_VERSION = 24.11.5\nKillWait = 30 sec\n"
PARTITION = "PartitionName={} AllowGroups=ALL Default=YES MaxTime=UNLIMITED RootOnly=NO State=UP TotalNodes=1"
NODE = (
    "NodeName=a CPUAlloc=0 CPUEfctv=8 CPUTot=8 Gres={} OS=Linux 6.1 #1 SMP RealMemory=1000 Sockets=1 "
    "CoresPerSocket=8 Boards=1 State={} ThreadsPerCore=1 Partitions={}  Reason=Partitions=evil [root@now]"
)


def recorded(version: str) -> Answers:
    """Return what a cluster of ours answered."""
    replay = Replay(read("site_detect", version))
    return ask(replay, replay, MACHINE, "alice")


def detected(partition: str = "all", gres: str = "(null)", state: str = "IDLE", **others: Any) -> Detection:
    """Return what is made of one partition with one node."""
    values = {
        "config": CONFIG,
        "partitions": PARTITION.format(partition),
        "nodes": NODE.format(gres, state, partition),
        **others,
    }
    return detect(Answers(**values))


if __name__ == "__main__":
    EXPECTED.write_text(profile_text(detect(recorded("22.05"))), encoding="utf-8")

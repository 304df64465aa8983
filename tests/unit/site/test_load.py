"""A site profile becomes a site. What is said of faults is in tests/rejected."""

from __future__ import annotations

from datetime import timedelta

import pytest

from paislurm.translator.errors import SiteError
from paislurm.translator.exit_codes.table import SiteRow
from paislurm.translator.protocol.extras_slurm import SlurmCompat
from paislurm.translator.site.load import load_site
from paislurm.translator.site.partitions import Partition, Shape
from paislurm.translator.site.policies import Monitor, Notifier, Retry
from paislurm.translator.site.profile import Address, Ports, Site, Times, VirtualCluster

PROFILE = """\
name: demo
partitions:
  gpu:
    nodes:
      - {count: 16, cpus: 64, memoryMB: 512000, gpus: 8, gpuType: a100}
      - {count: 4, cpus: 32, memoryMB: 256000}
    timeLimit: 7-00:00:00
  cpu: {timeLimit: 24:00:00}
defaultPartition: gpu
virtualClusters:
  default: {partition: gpu, account: research, qos: normal}
  students: {partition: cpu, reservation: course}
gresStyle: gpus-per-task
address: {suffix: -ib0}
ports: {first: 20000, last: 30000}
time: {default: 2:00:00, warning: 60, grace: 10, killWait: 15}
retry: {maxTransientRetries: 3}
compat: {minSucceeded: instances, nounset: false}
"""


def test_a_complete_profile_is_read() -> None:
    assert (
        load_site(PROFILE, file="site.yaml")
        == Site.of(
            name="demo",
            partitions={
                "gpu": Partition.of(
                    nodes=(
                        Shape.of(count=16, cpus=64, memory_mib=512000, gpus=8, gpu_type="a100"),
                        Shape.of(count=4, cpus=32, memory_mib=256000),
                    ),
                    time_limit=timedelta(days=7),
                ),
                "cpu": Partition.of(time_limit=timedelta(hours=24)),
            },
            default_partition="gpu",
            virtual_clusters={
                "default": VirtualCluster.of(partition="gpu", account="research", qos="normal"),
                "students": VirtualCluster.of(partition="cpu", reservation="course"),
            },
            gres_style="gpus-per-task",
            address=Address("suffix", "-ib0"),
            ports=Ports.of(first=20000, last=30000),
            time=Times.of(
                default=timedelta(hours=2),
                warning=timedelta(seconds=60),
                grace=timedelta(seconds=10),
                kill_wait=timedelta(seconds=15),
            ),
            retry=Retry.of(max_transient_retries=3),
            compat=SlurmCompat.of(min_succeeded="instances", nounset=False),
        ).known()
    )


def test_omitted_settings_have_defaults() -> None:
    assert load_site("{}\n", file="site.yaml") == Site.of().known()


@pytest.mark.parametrize(
    ("written", "method"),
    [("getent", "getent"), ("nodeAddress", "node-address"), ("{suffix: .ib}", "suffix")],
)
def test_the_address_method_is_read(written: str, method: str) -> None:
    assert load_site(f"address: {written}\n", file="site.yaml").address.method == method


@pytest.mark.parametrize(
    "text",
    [
        "partitions: []\n",
        "partitions: {gpu: null}\n",
        "partitions: {'a b': {}}\n",
        "partitions: {'': {}}\n",
        'partitions: {"a\\nb": {}}\n',
        "partitions: {gpu: {nodes: [{count: 1, cpus: 1, memoryMB: 1, gpuType: 'a b'}]}}\n",
        "address: {suffix: 'x; id'}\n",
        "address: {suffix: x, more: y}\n",
        "ports: {last: 70000}\n",
        "time: {grace: 0}\n",
        "time: {warning: .nan}\n",
        "name: 5\n",
        "monitor: never\n",
        "monitor: [none]\n",
        "monitor: null\n",
        "name: a\n---\nname: b\n",
        "- a\n",
        "a: [\n",
        "5\n",
    ],
)
def test_errors_belong_to_the_site_profile(text: str) -> None:
    with pytest.raises(SiteError):
        load_site(text, file="site.yaml")


def test_settings_of_the_monitor_are_read() -> None:
    site = load_site(
        """\
retry: {maxRestarts: 50, onRootCancel: retry}
exitSpec: [{code: -1003, behaviour: permanent, states: {PREEMPTED: taken by a paying job}, excludeNode: true}]
monitor: {background: false, maxPollInterval: 120}
notifications: {command: [/usr/local/bin/tell, --json]}
""",
        file="site.yaml",
    )
    assert site.retry == Retry.of(max_restarts=50, on_root_cancel="retry")
    assert site.exit_rows == (
        SiteRow(
            exit_code=-1003,
            behaviour="permanent",
            backend_states={"PREEMPTED": "taken by a paying job"},
            exclude_node=True,
        ),
    )
    assert site.monitor == Monitor.of(background=False, max_poll_interval=120)
    assert site.notifications.notifier == Notifier(argv=("/usr/local/bin/tell", "--json"), mail=False)
    at_end = load_site("monitor: none", file="site.yaml").monitor
    assert (at_end.background, at_end.at_end, site.monitor.at_end) == (False, True, False)
    whole = load_site("exitSpec: [{code: 7.0, behaviour: permanent}]", file="site.yaml").exit_rows
    assert [row.exit_code for row in whole] == [7]
    mailed = load_site("notifications: {sendmail: /usr/sbin/sendmail}", file="site.yaml").notifications.notifier
    assert mailed == Notifier(argv=("/usr/sbin/sendmail", "-t", "-i"), mail=True)

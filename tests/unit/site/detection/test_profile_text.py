"""Any site that can be detected reads back as it was."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.site.detection.answers import Detection, Gap
from paislurm.translator.site.detection.profile_text import profile_text
from paislurm.translator.site.devices import Gpus
from paislurm.translator.site.load import load_site
from paislurm.translator.site.partitions import GRES_PATTERN, Account, Amounts, Partition, Qos, Shape
from paislurm.translator.site.profile import Address, Ports, Site, Times, VirtualCluster
from paislurm.translator.slurm_options import is_plain

WORDS = st.sampled_from(
    ("yes", "null", "1e3", "0o7", "1_000", "1:30:00", "<<", "=", "~", ".inf", "2026-11-23", "!", "- a")
)
PRINTABLE = st.text(min_size=1, max_size=12).filter(str.isprintable) | WORDS
PLAIN = PRINTABLE.filter(is_plain).filter(lambda text: "," not in text and not any(map(str.isspace, text)))
ANY = st.text(max_size=30)
POSITIVE = st.integers(1, (1 << 31) - 1)
SECONDS = st.integers(1, 3650 * 24 * 3600).map(lambda seconds: timedelta(seconds=seconds))

NAME = st.from_regex(re.compile(r"[\w.~=!-]{1,8}", re.ASCII), fullmatch=True)
"""A name that sbatch can be given, often one that YAML reads as something else."""

shapes = st.builds(
    Shape.of,
    count=POSITIVE,
    cpus=POSITIVE,
    memory_mib=POSITIVE,
    gpus=st.integers(0, 16),
    gpu_type=PLAIN | st.just(""),
    threads_per_core=st.integers(1, 8),
    features=st.none() | st.lists(NAME, max_size=2).map(tuple),
    gres=st.none() | st.lists(st.from_regex(re.compile(GRES_PATTERN, re.ASCII), fullmatch=True), max_size=2).map(tuple),
)
names = st.none() | st.lists(NAME, max_size=2).map(tuple)
counts = st.none() | st.integers(0, (1 << 31) - 1)
bounds = st.builds(Amounts.of, nodes=counts, cpus=counts, memory_mib=counts, gpus=counts)
limits: dict[str, st.SearchStrategy[Any]] = {
    "max_jobs": counts,
    "max_submit_jobs": counts,
    "max_time": SECONDS | st.none(),
    "per_job": bounds,
    "total": bounds,
}
accounts = st.dictionaries(
    NAME, st.builds(Account.of, **limits, qos=names, default_qos=st.none() | NAME), min_size=1, max_size=3
)
qos = st.builds(
    Qos.of, **limits, per_user=bounds, over_partition_time=st.booleans(), over_partition_nodes=st.booleans()
)
partitions = st.dictionaries(
    PLAIN,
    st.builds(
        Partition.of,
        nodes=st.lists(shapes, max_size=3).map(tuple),
        time_limit=SECONDS | st.none(),
        max_nodes=st.none() | POSITIVE,
        allow_accounts=names,
        allow_qos=names,
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def sites(draw: st.DrawFn) -> Site:
    found = draw(partitions)
    default = draw(st.sampled_from([*found, None]))
    return Site.of(
        name=draw(PRINTABLE | st.just("")),
        slurm_version=draw(st.sampled_from(("", "22.05.8", "26.05.0rc"))),
        partitions=found,
        default_partition=default,
        virtual_clusters={"default": VirtualCluster.of(partition=default)} if default else {},
        accounts=draw(accounts),
        default_account=draw(st.none() | NAME),
        qos=draw(st.none() | st.dictionaries(NAME, qos, max_size=2)),
        reservations=draw(names),
        require_time_limit=draw(st.booleans()),
        gpus=Gpus.of(vendor=draw(st.sampled_from(("nvidia", "amd")))),
        address=Address(draw(st.sampled_from(("getent", "node-address")))),
        ports=Ports.of(first=draw(st.integers(1024, 30000)), last=draw(st.integers(30000, 65535))),
        time=Times.of(kill_wait=timedelta(seconds=draw(st.integers(1, 86400)))),
        mpi=draw(
            st.none() | st.lists(st.from_regex(r"(?!none$)[a-z0-9_.]{1,32}", fullmatch=True), unique=True).map(tuple)
        ),
    ).known()


@given(
    sites(),
    st.dictionaries(st.sampled_from(("partitions", "gpus", "mpi", "accounts", "reservations")), st.tuples(ANY)),
    ANY,
)
def test_a_written_profile_is_read_back_unchanged(site: Site, remarks: dict[str, tuple[str, ...]], words: str) -> None:
    gaps = (Gap(key="mpi", reason=words, command="srun --mpi=list"),)
    text = profile_text(Detection(site=site, remarks=remarks, gaps=gaps, runtimes=("podman",)))
    assert load_site(text, file="site.yaml") == site

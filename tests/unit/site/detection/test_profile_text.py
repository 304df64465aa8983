"""Any site that can be detected reads back as it was."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from paislurm.translator.sbatch_forms import is_plain
from paislurm.translator.site.detection.answers import Detection, Gap
from paislurm.translator.site.detection.profile_text import profile_text
from paislurm.translator.site.load import load_site
from paislurm.translator.site.profile import Gpus, Partition, PortRange, Shape, Site, VirtualCluster

WORDS = st.sampled_from(
    ("yes", "null", "1e3", "0o7", "1_000", "1:30:00", "<<", "=", "~", ".inf", "2026-11-23", "!", "- a")
)
PRINTABLE = st.text(min_size=1, max_size=12).filter(str.isprintable) | WORDS
PLAIN = PRINTABLE.filter(is_plain).filter(lambda text: "," not in text and not any(map(str.isspace, text)))
ANY = st.text(max_size=30)
POSITIVE = st.integers(1, (1 << 31) - 1)
SECONDS = st.integers(1, 3650 * 24 * 3600).map(lambda seconds: timedelta(seconds=seconds))

shapes = st.builds(
    Shape,
    count=POSITIVE,
    cpus=POSITIVE,
    memory_mib=POSITIVE,
    gpus=st.integers(0, 16),
    gpu_type=PLAIN | st.just(""),
    threads_per_core=st.integers(1, 8),
)
partitions = st.lists(
    st.builds(
        Partition,
        name=PLAIN,
        shapes=st.lists(shapes, max_size=3).map(tuple),
        time_limit=SECONDS | st.none(),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda partition: partition.name,
).map(tuple)


@st.composite
def sites(draw: st.DrawFn) -> Site:
    found = draw(partitions)
    default = draw(st.sampled_from([*(partition.name for partition in found), None]))
    return Site(
        known=True,
        name=draw(PRINTABLE | st.just("")),
        slurm_version=draw(st.sampled_from(("", "22.05.8", "26.05.0rc"))),
        partitions=found,
        default_partition=default,
        virtual_clusters={"default": VirtualCluster(partition=default)} if default else {},
        gpus=Gpus(vendor=draw(st.sampled_from(("nvidia", "amd")))),
        address=draw(st.sampled_from(("getent", "node-address"))),
        ports=PortRange(first=draw(st.integers(1024, 30000)), last=draw(st.integers(30000, 65535))),
        kill_wait=timedelta(seconds=draw(st.integers(1, 86400))),
        mpi=draw(
            st.none() | st.lists(st.from_regex(r"(?!none$)[a-z0-9_.]{1,32}", fullmatch=True), unique=True).map(tuple)
        ),
    )


@given(sites(), st.dictionaries(st.sampled_from(("partitions", "gpus", "mpi")), st.tuples(ANY)), ANY)
def test_a_site_reads_back_as_it_was(site: Site, remarks: dict[str, tuple[str, ...]], words: str) -> None:
    gaps = (Gap(key="mpi", reason=words, command="srun --mpi=list"),)
    text = profile_text(Detection(site=site, remarks=remarks, gaps=gaps, runtimes=("podman",)))
    assert load_site(text, file="site.yaml") == site

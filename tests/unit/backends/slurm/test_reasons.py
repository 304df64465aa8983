"""Slurm's words for why a job waits: all of them mean something, and what is not known stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paislurm.backends.slurm.pending_reasons import explained

THINGS = ("BB", "Billing", "Energy", "GRES", "License", "Mem", "Node", "Unknown")
WORDS = """
Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown PartitionInactive JobHeldAdmin
JobHeldUser BeginTime Licenses AssociationJobLimit AssociationResourceLimit AssociationTimeLimit Reservation
ReqNodeNotAvail FrontEndDown SchedDefer NodeDown BadConstraints SystemFailure JobLaunchFailure InvalidAccount
InvalidQOS QOSUsageThreshold QOSJobLimit QOSResourceLimit QOSTimeLimit Cleaning Prolog QOSNotAllowed AccountNotAllowed
DependencyNeverSatisfied QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpJobsLimit QOSGrpMemLimit
QOSGrpNodeLimit QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxCpuPerJobLimit QOSMaxCpuMinutesPerJobLimit
QOSMaxNodePerJobLimit QOSMaxWallDurationPerJobLimit QOSMaxCpuPerUserLimit QOSMaxJobsPerUserLimit QOSMaxNodePerUserLimit
QOSMaxSubmitJobPerUserLimit QOSMinCpuNotSatisfied AssocGrpCpuLimit AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit
AssocGrpJobsLimit AssocGrpMemLimit AssocGrpNodeLimit AssocGrpSubmitJobsLimit AssocGrpWallLimit AssocMaxJobsLimit
AssocMaxCpuPerJobLimit AssocMaxCpuMinutesPerJobLimit AssocMaxNodePerJobLimit AssocMaxWallDurationPerJobLimit
AssocMaxSubmitJobLimit JobHoldMaxRequeue JobArrayTaskLimit BurstBufferResources BurstBufferStageIn BurstBufferOperation
PartitionConfig AccountingPolicy FedJobLock DeadLine MaxMemPerLimit MaxBBPerAccount MaxCpuPerAccount MaxJobsPerAccount
QOSMinGRES ReservationDeleted WaitingForScheduling
"""
"""The words of libslurm 22.05 and its documentation for jobs that have not begun, without those made of `THINGS`."""
MADE = [
    f"{of}{thing}{more}"
    for thing in THINGS
    for of, mores in (
        ("AssocGrp", ("", "Minutes", "RunMinutes")),
        ("QOSGrp", ("", "Minutes", "RunMinutes")),
        ("AssocMax", ("PerJob", "PerNode", "MinutesPerJob")),
        ("QOSMax", ("PerJob", "PerNode", "PerUser", "MinutesPerJob")),
    )
    for more in mores
]


@pytest.mark.parametrize("word", [*WORDS.split(), *MADE])
def test_every_reason_has_a_meaning_and_a_hint(word: str) -> None:
    found = explained(word)
    assert found.kind != "unknown"
    assert found.meaning
    assert found.help


@pytest.mark.parametrize(
    ("reason", "kind", "says"),
    [
        ("AssocGrpGRES", "later", "the jobs of its account together have reached their limit (GPUs and other gres)"),
        ("QOSGrpCpuLimit", "later", "the jobs of its QOS together have reached their limit (CPUs)"),
        ("AssocGrpCPURunMinutesLimit", "later", "the jobs of its account together"),
        ("AssocGrpCPUMinutesLimit", "stuck", "the remaining budget of its account"),
        ("QOSMaxGRESPerUser", "later", "the jobs of its user or account together"),
        ("QOSMaxJobsPerUserLimit", "later", "the jobs of its user or account together"),
        ("AssocMaxJobsLimit", "later", "the jobs of its account together"),
        ("QOSMaxGRESPerJob", "stuck", "it requests more than its QOS allows for one job (GPUs and other gres)"),
        ("AssocMaxWallDurationPerJobLimit", "stuck", "more than its account allows for one job (time)"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "later", "down, drained, or reserved"),
        (
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "later",
            "reserved for partitions with a higher priority",
        ),
        ("launch_failed_requeued_held", "stuck", "Slurm holds it"),
        ("DependencyNeverSatisfied", "stuck", "did not end as required"),
        ("Dependency", "later", "waits for other jobs"),
    ],
)
def test_reasons_have_the_expected_kind_and_meaning(reason: str, kind: str, says: str) -> None:
    found = explained(reason)
    assert found.kind == kind
    assert says in found.meaning


@given(
    st.text() | st.sampled_from(["Assoc", "QOSMax", "QOSMin", "ReqNode"]).flatmap(lambda head: st.just(head + "{0}"))
)
def test_unknown_reasons_are_unchanged(reason: str) -> None:
    found = explained(reason)
    assert "{" not in found.meaning
    assert found.kind != "unknown" or not found.meaning

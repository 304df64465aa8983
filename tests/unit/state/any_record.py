"""Records of every kind with anything in them, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from paislurm.translator.exit_codes.table import BEHAVIOURS, SiteRow
from paislurm.translator.state.journal_records import (
    Cancelled,
    Changed,
    Created,
    Dependency,
    Ended,
    Intent,
    JobRole,
    Notified,
    Observed,
    Retry,
    RetryPolicy,
    Submitted,
)
from paislurm.translator.state.run_record import FileDigest, RunRecord

numbers = st.integers(0, 1 << 40)
counts = st.integers(0, 999_999_999)
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
"""Without what a journal does not keep as it is."""
ids = st.integers(1, (1 << 31) - 1).map(str) | st.just("")
folders = words.filter(lambda name: "/" not in name and name not in ("", ".", ".."))
roles = st.builds(JobRole, name=words, folder=folders, instances=st.integers(0, 50_000))
behaviours = st.sampled_from(BEHAVIOURS)
rows = st.builds(
    SiteRow,
    exit_code=st.integers(-9, 9),
    phrase=st.none() | words,
    behaviour=st.none() | behaviours,
    backend_states=st.dictionaries(words, words, max_size=2),
    exclude_node=st.none() | st.booleans(),
)
digests = st.builds(FileDigest, file=words, sha256=words)
maps = st.dictionaries(words, words, max_size=3)
lists = st.lists(words, max_size=3).map(tuple)
runs = st.builds(
    RunRecord, parameters=maps, overrides=maps, suffix=words, argv=lists, submit_folder=words, job_file=digests,
    kept_sha256=words, script_sha256=words, site_profiles=st.lists(digests, max_size=2).map(tuple),
    secrets_file=words, paislurm_version=words, submitted_by=words, slurm_options=maps,
)  # fmt: skip
any_record = st.one_of(
    st.builds(
        Created,
        happened_at=numbers,
        job=words,
        user=words,
        backend=words,
        roles=st.lists(roles, max_size=3).map(tuple),
        retry_policy=st.builds(
            RetryPolicy, retry_limit=st.integers(-2, 9), max_transient_retries=numbers, spare_nodes=st.none() | numbers
        ),
        exit_rows=st.lists(rows, max_size=2).map(tuple),
        notify=st.lists(words, max_size=2).map(tuple),
        run=st.none() | runs,
        group=words,
        sweep=st.dictionaries(words, words, max_size=2),
        dependencies=st.lists(
            st.builds(Dependency, name=folders, created_at=numbers, until=st.sampled_from(("succeeded", "ended"))),
            max_size=2,
        ).map(tuple),
        first_tag=words,
        virtual_cluster=words,
        partition=words,
    ),
    st.builds(Intent, happened_at=numbers, attempt=counts, tag=words),
    st.builds(
        Submitted,
        happened_at=numbers,
        attempt=counts,
        job_id=ids,
        job=words,
        user=words,
        backend=words,
        task_count=st.integers(0, 250_000),
    ),
    st.builds(
        Observed,
        happened_at=numbers,
        attempt=counts,
        backend_state=words,
        backend_reason=words,
        backend_reasons=st.lists(words, max_size=3).map(tuple),
    ),
    st.builds(Cancelled, happened_at=numbers, attempt=counts, user=words, job_id=ids),
    st.builds(Changed, happened_at=numbers, attempt=counts, user=words, values=maps, old_values=maps, job_id=ids),
    st.builds(Notified, happened_at=numbers, attempt=counts, key=words, delivered=st.booleans()),
    st.builds(
        Retry,
        happened_at=numbers,
        attempt=counts,
        exit_code=st.integers(-8000, 255),
        behaviour=behaviours,
        reason=words,
        retry_rule=words,
        retry_at=numbers,
        retries=counts,
        used_retries=counts,
        transient_retries=counts,
        blamed_nodes=st.lists(words, max_size=2).map(tuple),
        backend_state=words,
        started_at=st.none() | numbers,
        ended_at=st.none() | numbers,
    ),
    st.builds(
        Ended,
        happened_at=numbers,
        attempt=counts,
        state=words,
        exit_code=st.none() | st.integers(-8000, 255),
        reason=words,
        backend_state=words,
        started_at=st.none() | numbers,
        ended_at=st.none() | numbers,
        completed=counts,
        node_list=words,
    ),
)

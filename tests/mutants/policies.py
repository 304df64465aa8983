"""Planted bugs of what decides about jobs: lock, retries, dependencies, status, exit codes, results."""

from __future__ import annotations

from .mutant import Mutant

_RECONCILE, _RETRY, _ATTEMPT, _AFTER, _UNBEGUN, _VERDICT, _TRANSITION = (
    f"translator/monitor/{name}.py"
    for name in ("reconcile", "retry", "attempt", "after", "unbegun", "verdict", "transition")
)

POLICIES = (
    Mutant(
        "a retry is submitted by a process that has lost the lock", _RECONCILE,
        "    if not dependencies.holds_lock():\n        return view\n",
        "",
        ("tests/unit/monitor/test_reconcile_interrupted.py", "-k", "no_retry_is_submitted"),
    ),
    Mutant(
        "a retry does not see that the job was cancelled before its intent", _RECONCILE,
        "    if before.cancelled is not None or (before.attempt",
        "    if (before.attempt",
        ("tests/unit/monitor/test_reconcile_interrupted.py", "-k", "no_retry_is_submitted"),
    ),
    Mutant(
        "the path of a submit that stalled and was undone is used again", "translator/app/submit/new_folder.py",
        "        if seconds > STALLED_SECONDS:\n            keep_number",
        "        if False:\n            keep_number",
        ("tests/unit/state/test_address.py", "-k", "undone"),
    ),
    Mutant(
        "a submit that stalled takes the path of a removed job", "translator/state/address.py",
        "            if last > address.number or removed >= address.number:\n",
        "            if last > address.number:\n",
        ("tests/unit/state/test_address.py", "-k", "stalls"),
    ),
    Mutant(
        "the lock does not look at its inode", "translator/files/lock.py",
        "            and mine.inode == self._inode\n",
        "",
        ("tests/unit/state/test_lock.py", "-k", "whose_folder_was_removed"),
    ),
    Mutant(
        "a job gets one transient retry more than the site allows", _RETRY,
        "    if counters.transient >= policy.max_transient_retries:\n",
        "    if counters.transient > policy.max_transient_retries:\n",
        ("tests/unit/monitor/test_retry.py", "-k", "retry_count_limits"),
    ),
    Mutant(
        "the first delay of a retry is twice as long", _RETRY,
        "FIRST_BACK_OFF << min(before - 1, 10)",
        "FIRST_BACK_OFF << min(before, 10)",
        ("tests/unit/monitor/test_retry.py", "-k", "delays_are_within"),
    ),
    Mutant(
        "a job that waited for another one ends if its first submit was lost", _ATTEMPT,
        "    elif known.attempt == 0 and not known.first_tag:\n",
        "    elif known.attempt == 0:\n",
        ("tests/unit/monitor/test_reconcile.py", "-k", "lost_first_attempt"),
    ),
    Mutant(
        "a job that was removed counts as one that succeeded", _AFTER,
        'fulfilment="fulfilled" if after.until == "ended" else "failed", why=why)',
        'fulfilment="fulfilled", why=why)',
        ("tests/unit/monitor/test_reconcile.py", "-k", "removed_dependency"),
    ),
    Mutant(
        "the cancel of a user is taken for a failed start", _UNBEGUN,
        " in BY_ROOT and known.cancelled is None\n",
        " in BY_ROOT\n",
        ("tests/unit/monitor/test_unbegun.py", "-k", "cancel and user"),
    ),
    Mutant(
        "a lost node is believed before Slurm has named it", _VERDICT,
        "f.polled_at < (f.result.ended_at or 0)\n",
        "f.polled_at > (f.result.ended_at or 0)\n",
        ("tests/unit/monitor/test_job_status.py", "-k", "names_a_lost_node_once"),
    ),
    Mutant(
        "a retry avoids the nodes of all failed tasks, whatever their code", _TRANSITION,
        'if task.state == "FAILED" and task.exit_code == code)',
        'if task.state == "FAILED")',
        ("tests/unit/monitor/test_reconcile.py", "-k", "spare_nodes"),
    ),
    Mutant(
        "a start that is reported twice forgets the end of the task", "translator/state/task_reports.py",
        "    if known is None or known.attempt < attempt:\n",
        "    if known is None or known.attempt <= attempt:\n",
        ("tests/unit/state/test_safe_read.py", "-k", "reports_of_a_task"),
    ),
    Mutant(
        "a task that never started keeps an ended job open", "translator/state/result.py",
        "        return self.started_at is not None and self.ended_at is None\n",
        "        return self.ended_at is None\n",
        ("tests/unit/monitor/test_job_status.py", "-k", "give_the_expected_status"),
    ),
    Mutant(
        "a site cannot switch the exclusion of nodes off for a code", "translator/exit_codes/table.py",
        "exclude_node=base.exclude_node if row.exclude_node is None else row.exclude_node,",
        "exclude_node=row.exclude_node or base.exclude_node,",
        ("tests/unit/app/test_exit_meaning.py", "-k", "changes_a_row"),
    ),
    Mutant(
        "a lock of a mapping does not cover its keys", "translator/site/layers.py",
        "    return list(key[: len(steps)]) == steps\n",
        "    return list(key) == steps[: len(key)]\n",
        ("tests/unit/site/test_layers.py", "-k", "cannot_change_locked"),
    ),
    Mutant(
        "an age of an hour is shown as 60 minutes", "translator/times.py",
        'if seconds >= _UNITS[unit]), "s")',
        'if seconds > _UNITS[unit]), "s")',
        ("tests/unit/test_times.py", "-k", "largest_unit"),
    ),
)  # fmt: skip

"""Planted bugs of the protocol by which processes share jobs: the simulator has to notice each."""

from __future__ import annotations

from .mutant import Mutant

_LOCK, _RECONCILE, _ATTEMPT, _TRANSITION = (
    f"translator/{name}.py" for name in ("files/lock", "monitor/reconcile", "monitor/attempt", "monitor/transition")
)
_JOURNAL, _FOLDER = (f"translator/state/{name}.py" for name in ("journal", "job_folder"))
_SUBMIT, _PLACE, _CANCEL = (
    f"translator/app/{name}.py" for name in ("submit/submitting", "submit/new_folder", "jobs/cancelling")
)

PROTOCOL = (
    Mutant(
        "a retry is submitted after a cancel that came meanwhile", _RECONCILE,
        "    if before.cancelled is not None or (before.attempt",
        "    if (before.attempt",
    ),
    Mutant(
        "a cancel between two attempts ends no job", _TRANSITION,
        "    if known.cancelled is None:\n        return _due(retry, now, held_text(known)), ()\n",
        "    return _due(retry, now, held_text(known)), ()\n",
    ),
    Mutant(
        "a submit does not cancel what was cancelled meanwhile", _SUBMIT,
        "        cancel_as_asked(folder, known, backend, session.now())\n",
        "        pass\n",
    ),
    Mutant(
        "the end of a job leaves its secrets", _FOLDER,
        "            self.forget_secrets()\n",
        "            pass\n",
    ),
    Mutant(
        "the path of a removed job is used again", "translator/state/folder_removal.py",
        "        keep_number(folder.path)\n",
        "        pass\n",
    ),
    Mutant(
        "a record after an incomplete line joins that line", _JOURNAL,
        'torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\\n"',
        "torn = False",
    ),
    Mutant(
        "a record that was written in part counts as written", _JOURNAL,
        "        if os.write(descriptor, line) != len(line):\n",
        "        if os.write(descriptor, line) < 0:\n",
    ),
    Mutant(
        "an attempt that nobody knows is given up at once", _ATTEMPT,
        "SETTLED_SECONDS = 180\n",
        "SETTLED_SECONDS = 1\n",
    ),
    Mutant(
        "the journal has no intent before the submit", _RECONCILE,
        "    folder.append(intent)\n",
        "    pass\n",
    ),
    Mutant(
        "a retry gets a tag of its own each time", _RECONCILE,
        "new_intent(number, now, before=before.tag)",
        "new_intent(number, now)",
    ),
    Mutant(
        "an accepted attempt is not recorded", _ATTEMPT,
        "        folder.append(record)\n    except OSError",
        "        pass\n    except OSError",
    ),
    Mutant(
        "the search for a tag is not believed", _ATTEMPT,
        "    job_id = answer.found[known.tag]\n",
        "    job_id = None\n",
    ),
    Mutant(
        "a cancel is not recorded", _CANCEL,
        "            yield _recorded(session, _Asked(view, \"\"))\n",
        "            yield _Asked(view, \"\")\n",
    ),
    Mutant(
        "a cancelled job is not recorded, and is retried", _CANCEL,
        "            yield _recorded(session, each)\n",
        "            yield each\n",
    ),
    Mutant(
        "an undone submit leaves its secrets", _PLACE,
        "    folder.forget_secrets()\n    gone = folder.path.with_name(f\".new-{os.urandom(8).hex()}\")\n",
        "    folder.secrets.rename(gone := folder.path.with_name(f\".new-{os.urandom(8).hex()}\"))\n",
    ),
    Mutant(
        "a submit takes the number after that of a job that was submitted meanwhile", _PLACE,
        "        placed = publish(staged, place.folder)\n",
        "        name = place.folder.name.partition('@')[0]\n"
        "        place = Place(session.store.newest_and_free(name)[1])\n"
        "        placed = publish(staged, place.folder)\n",
    ),
    Mutant(
        "the lock of a living owner is free", _LOCK,
        "STALE_SECONDS = 60\n",
        "STALE_SECONDS = 0\n",
    ),
    Mutant(
        "a job is retried beyond its budget", "translator/monitor/retry.py",
        "    if counters.used < policy.retry_limit:\n",
        "    if counters.used <= policy.retry_limit:\n",
    ),
)  # fmt: skip

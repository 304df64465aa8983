"""Planted bugs where data comes in and goes out: job files, protocol v1, quoting, Slurm's output, ssh."""

from __future__ import annotations

from .mutant import Mutant

_READING, _V1 = "translator/reading", "translator/protocol/v1"
_OUTPUT, _STATES = (f"backends/slurm/{name}.py" for name in ("output", "job_states"))

EDGES = (
    Mutant(
        "columns of a JSON file count from 0", f"{_READING}/json_nodes.py",
        "line=mark.line + 1, column=mark.column + 1)",
        "line=mark.line + 1, column=mark.column)",
        ("tests/unit/reading/test_json_nodes.py", "-k", "locations_match"),
    ),
    Mutant(
        "a key after a merge key that has it is a duplicate", f"{_READING}/yaml_nodes.py",
        "        elif key.source in pairs and key.source not in merged:\n",
        "        elif key.source in pairs:\n",
        ("tests/unit/reading/test_read.py", "-k", "merge_keys"),
    ),
    Mutant(
        "an integer forgets its spelling", f"{_READING}/scalars.py",
        "    return value if str(value) == text else SourceInt(value, text)\n",
        "    return value\n",
        ("tests/unit/reading/test_scalars.py", "-k", "keeps_its_spelling"),
    ),
    Mutant(
        "a threshold of null in protocol v1 is 1", f"{_V1}/build.py",
        "min_failed=NEVER if failed is None else failed,",
        "min_failed=failed or 1,",
        ("tests/unit/protocol/test_v1.py", "-k", "null_thresholds"),
    ),
    Mutant(
        "fixed ports of protocol v1 end one later", f"{_V1}/semantic_checks.py",
        "        last = first + count - 1\n",
        "        last = first + count\n",
        ("tests/unit/protocol/test_v1_schema.py", "-k", "valid_values"),
    ),
    Mutant(
        "the second delimiter of a here-document may be a line of its text", "translator/rendering/shell.py",
        "    while delimiter in lines:\n",
        "    if delimiter in lines:\n",
        ("tests/unit/rendering/test_shell.py", "-k", "is_its_delimiter"),
    ),
    Mutant(
        "text that looks like a reference to a secret becomes the secret", "translator/protocol/expressions/secrets.py",
        'text.replace(TAG, f"{TAG} %>")',
        "text",
        ("tests/unit/protocol/test_secrets.py", "-k", "kept_reference"),
    ),
    Mutant(
        "a job whose reason has a `|` is not seen", _OUTPUT,
        'line.strip().split("|", len(keys) - 1) for',
        'line.strip().split("|") for',
        ("tests/unit/backends/slurm/test_output.py", "-k", "separator"),
    ),
    Mutant(
        "a heterogeneous job ends when the accounts have some of its components", _STATES,
        "_is_complete(accounting, max(components, len(queue)))",
        "_is_complete(accounting, components)",
        ("tests/unit/backends/slurm/test_slurm.py", "-k", "lagging_accounting"),
    ),
    Mutant(
        "minutes and seconds of a time limit are read as hours and minutes", "translator/times.py",
        "    elif match[4]:\n",
        "    elif match[3]:\n",
        ("tests/unit/test_times.py", "-k", "time_limits"),
    ),
    Mutant(
        "a host with another key is reported as one without a known key", "backends/ssh/faults.py",
        "    if _OTHER_KEY.search(words):\n        return other_key(address)\n    if _UNKNOWN_KEY.search(words):\n"
        '        return unknown_key(address, "", "")\n',
        '    if _UNKNOWN_KEY.search(words):\n        return unknown_key(address, "", "")\n'
        "    if _OTHER_KEY.search(words):\n        return other_key(address)\n",
        ("tests/unit/backends/ssh/test_parts.py", "-k", "errors_have_codes"),
    ),
    Mutant(
        "sockets of connections are kept where other users can enter", "backends/ssh/openssh.py",
        " or status.st_uid != os.getuid() or status.st_mode & 0o077:\n",
        " or status.st_uid != os.getuid():\n",
        ("tests/unit/backends/ssh/test_parts.py", "-k", "socket_folder"),
    ),
    Mutant(
        "the user's configuration of ssh can accept unknown host keys", "backends/ssh/ssh_config",
        "StrictHostKeyChecking yes\nInclude ~/.ssh/config\n",
        "Include ~/.ssh/config\nStrictHostKeyChecking yes\n",
        ("tests/unit/backends/ssh/test_parts.py", "-k", "configuration_of_the_user"),
    ),
    Mutant(
        "fabric does not check the keys of jump hosts", "backends/ssh/fabric_transport.py",
        "        connection = connection.gateway\n",
        "        connection = None\n",
        ("tests/unit/backends/ssh/test_parts.py", "-k", "jump_hosts"),
    ),
)  # fmt: skip

"""Planted bugs of the bash: completion, supervision, launches, retries, ports, secrets, quoting, containers."""

from __future__ import annotations

from .mutant import Mutant

_BATCH, _NODE, _CONTAINERS = (f"templates/runtime/{folder}" for folder in ("batch", "node", "containers"))
_COMPLETION, _LAUNCHES, _LOST, _SUPERVISE, _RESULT = (
    f"{_BATCH}/{name}.sh" for name in ("completion", "launches", "lost_tasks", "supervise", "result")
)

SCRIPTS = (
    Mutant(
        "of two thresholds that are reached at once, that of the later role decides", _COMPLETION,
        "((${reached%% *} < ${first%% *}))",
        "((${reached%% *} <= ${first%% *}))",
        ("tests/unit/runtime/test_supervision.py", "-k", "in_a_tie"),
    ),
    Mutant(
        "in the model of the completion policy success wins a tie", "translator/app/what_if/completion_model.py",
        '((0, "C2", role.min_failed), (1, "C3", role.min_succeeded))',
        '((1, "C2", role.min_failed), (0, "C3", role.min_succeeded))',
        ("tests/unit/runtime/test_supervision.py", "-k", "in_a_tie"),
    ),
    Mutant(
        "steps that start after the decision get no TERM", _COMPLETION,
        '      signal_steps TERM "${!PSL_TERM_DUE[@]}"\n',
        "      :\n",
        ("tests/unit/runtime/test_supervision.py", "-k", "gets_term_once"),
    ),
    Mutant(
        "the failure of a Prolog is not preferred to an earlier failure of a launch", _LAUNCHES,
        "  if ((${#PSL_FAILED_LAUNCH[@]})) && [[ $PSL_LAUNCH_FAILURE != -1403* ]]; then\n",
        "  if ((${#PSL_FAILED_LAUNCH[@]})); then\n",
        ("tests/unit/runtime/test_launches.py", "-k", "unless_a_prolog"),
    ),
    Mutant(
        "an srun that may not be executed is a failure of the commands", _LAUNCHES,
        "  elif ((status == 126 || status == 127)); then\n",
        "  elif ((status == 127)); then\n",
        ("tests/unit/runtime/test_launches.py", "-k", "are_recognized"),
    ),
    Mutant(
        "the last of several dead shells is forgotten", _LOST,
        "slot <= 10#$3 && slot <",
        "slot < 10#$3 && slot <",
        ("tests/unit/runtime/test_losses.py", "-k", "killed and memory"),
    ),
    Mutant(
        "tasks that had ended fail with their lost node", _LOST,
        '== "$node" ]] && is_open "$task"; then\n',
        '== "$node" ]]; then\n',
        ("tests/unit/runtime/test_losses.py", "-k", "keeps and exit"),
    ),
    Mutant(
        "a task is retried once more than its role allows", f"{_BATCH}/slots.sh",
        "  if ((limit >= 0 && used >= limit)); then\n",
        "  if ((limit >= 0 && used > limit)); then\n",
        ("tests/unit/runtime/test_task_retry.py", "-k", "match_the_model"),
    ),
    Mutant(
        "an exit by KILL is not provisional", _SUPERVISE,
        "((status == 143 || (status == 137 && $6 > 0)))",
        "((status == 143))",
        ("tests/unit/runtime/test_supervision.py", "-k", "just_before_the_end"),
    ),
    Mutant(
        "a start that is reported twice revives an ended task", _SUPERVISE,
        "${PSL_ATTEMPTS[$task]} -ge $4 ]]",
        "${PSL_ATTEMPTS[$task]} -gt $4 ]]",
        ("tests/unit/runtime/test_losses.py", "-k", "twice and once"),
    ),
    Mutant(
        "a task that died of TERM counts as ended by itself", _RESULT,
        "${PSL_STATUS[$1]:-0} != 143 && ${PSL_STATUS[$1]:-0} != 137",
        "${PSL_STATUS[$1]:-0} != 143 || ${PSL_STATUS[$1]:-0} != 137",
        ("tests/unit/runtime/test_scripts.py", "-k", "ended_by_itself"),
    ),
    Mutant(
        "the backslash before a quote in JSON is escaped again", _RESULT,
        "  PSL_ESCAPED=${1//\\\\/\\\\\\\\}\n  PSL_ESCAPED=${PSL_ESCAPED//\\\"/\\\\\\\"}\n",
        "  PSL_ESCAPED=${1//\\\"/\\\\\\\"}\n  PSL_ESCAPED=${PSL_ESCAPED//\\\\/\\\\\\\\}\n",
        ("tests/unit/runtime/test_words.py", "-k", "json_string"),
    ),
    Mutant(
        "the search for a free port leaves the range by one", f"{_NODE}/ports.sh",
        "PSL_PORT == PSL_LAST_PORT ? ",
        "PSL_PORT > PSL_LAST_PORT ? ",
        ("tests/unit/runtime/test_ports.py", "-k", "around_the_end"),
    ),
    Mutant(
        "a secret that others can read is accepted", f"{_BATCH}/secrets.sh",
        "$mode != [46]00 ]]",
        "$mode != [46]* ]]",
        ("tests/unit/app/real_jobs/test_secrets.py", "-k", "names_the_folder"),
    ),
    Mutant(
        "a quoted secret with an apostrophe ends its quotes", "templates/runtime/task/secrets.sh",
        '    quote "$PSL_SECRET"\n    PSL_SECRET=$PSL_QUOTED\n',
        "    PSL_SECRET=\"'$PSL_SECRET'\"\n",
        ("tests/unit/runtime/test_ends.py", "-k", "inserted_as_data"),
    ),
    Mutant(
        "an apostrophe does not end the quotes before its backslash", "templates/runtime/common/messages.sh",
        "${1//$apostrophe/$apostrophe\\\\$apostrophe$apostrophe}",
        "${1//$apostrophe/\\\\$apostrophe}",
        ("tests/unit/runtime/test_ends.py", "-k", "inserted_as_data"),
    ),
    Mutant(
        "all users mount the whole storage instead of their own folders", f"{_CONTAINERS}/containers.sh",
        "      path+=/$PSL_JOB_USER\n",
        "",
        ("tests/unit/runtime/test_containers.py", "-k", "command_line_of_a_task"),
    ),
    Mutant(
        "the backslashes of an fstab are escaped last", f"{_CONTAINERS}/charliecloud.sh",
        "    field=${field//\\\\/\\\\134}\n    field=${field// /\\\\040}\n",
        "    field=${field// /\\\\040}\n    field=${field//\\\\/\\\\134}\n",
        ("tests/unit/runtime/test_containers.py", "-k", "fstab"),
    ),
    Mutant(
        "the last port of ssh counts, not the first", "templates/runtime/remote_exec/ssh_arguments.sh",
        "  if [[ $PSL_SSH_PORT || ! $port ]]; then\n",
        "  if [[ ! $port ]]; then\n",
        ("tests/unit/runtime/test_find.py", "-k", "port_of_ssh"),
    ),
)  # fmt: skip

# Write result.json: how the attempt ended.

# write_result: write a new file, then rename it. The path is relative: when the job has ended, a
# removal may rename the folder while this script cleans up.
write_result() {
  local text
  [[ $PSL_ENTERED ]] || return 0
  owns_attempt || return 0  # only: requeue
  # Write all of the text at once, so that a full disk leaves no half of it.
  text=$(print_result)
  PSL_UNWRITTEN=''
  # Read it back: NFS may report a quota or a full disk at close only, and bash ignores that error.
  if ! printf '%s\n' "$text" >result.json.new || [[ $(<result.json.new) != "$text" ]] ||
    ! mv -- result.json.new result.json; then
    rm -f -- result.json.new
    explain_full "cannot write $PSL_ATTEMPT_FOLDER/result.json"
    log "error: $PSL_EXPLAINED"
    PSL_UNWRITTEN=1
  fi
}

# explain_full REASON: set PSL_FULL if the file system of the attempt's folder is full or a quota is
# used up, and PSL_EXPLAINED to REASON with this cause. Only the message of a failed write names the
# cause; head reports errors of close, too.
explain_full() {
  local said=''
  if [[ $PSL_ENTERED ]]; then
    said=$(
      export LC_ALL=C
      exec 2>&1
      head -c 65536 /dev/zero >room
    )
    rm -f -- room
  fi
  PSL_EXPLAINED=$1
  if [[ $said == *@('No space left'|'quota exceeded')* ]]; then
    PSL_FULL=1
    PSL_EXPLAINED+=': its file system is full, or your quota there is used up'
  fi
}

# escape_json TEXT: set PSL_ESCAPED to the text, escaped for a JSON string.
escape_json() {
  PSL_ESCAPED=${1//\\/\\\\}
  PSL_ESCAPED=${PSL_ESCAPED//\"/\\\"}
  PSL_ESCAPED=${PSL_ESCAPED//$'\n'/\\n}
  PSL_ESCAPED=${PSL_ESCAPED//[[:cntrl:]]/ }
}

print_result() {
  local role index comma=''
  escape_json "$PSL_JOB_NAME"
  printf '{"version": 2, "job": "%s", "attempt": %d, "job_id": "%s",\n' \
    "$PSL_ESCAPED" "$PSL_ATTEMPT" "$SLURM_JOB_ID"
  escape_json "$PSL_OUTCOME_REASON"
  printf ' "outcome": "%s", "exit_code": %d, "behaviour": "%s",\n "reason": "%s",\n' \
    "$PSL_OUTCOME" "$PSL_OUTCOME_CODE" "$PSL_OUTCOME_BEHAVIOUR" "$PSL_ESCAPED"
  print_trigger
  printf ' "resumed_from": %s,\n' "${PSL_RESUMED_FROM:-null}"  # only: checkpoints
  printf ' "checkpoint_at": %s,\n' "${PSL_CHECKPOINT_AT:-null}"  # only: checkpoints
  printf ' "restarts": [%s],\n' "$PSL_RESTARTS"  # only: restarts
  print_stalls  # only: progress
  printf ' "started_at": %d, "ended_at": %d,\n "tasks": [' "$PSL_BEGAN_AT" "$PSL_DECIDED_AT"
  for role in "${!PSL_ROLE_NAME[@]}"; do
    escape_json "${PSL_ROLE_NAME[role]}"
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      printf '%s\n' "$comma"
      print_task_result "$role" "$index" "$PSL_ESCAPED"
      comma=,
    done
  done
  printf '\n ]}\n'
}

# print_trigger: print the rule of the completion policy that decided, and the task that triggered
# it.
print_trigger() {
  local rule role index threshold
  if [[ ! $PSL_TRIGGER ]]; then
    printf ' "trigger": null,\n'
    return
  fi
  read -r rule role index threshold <<<"$PSL_TRIGGER"
  escape_json "${PSL_ROLE_NAME[role]}"
  printf ' "trigger": {"completion_rule": "%s", "role": "%s", "index": %d,' \
    "$rule" "$PSL_ESCAPED" "$index"
  printf ' "count": %d, "threshold": %d},\n' "$threshold" "$threshold"
}

# ended_by_itself TASK: succeed if the task has ended by itself after the decision, or just before:
# it got no TERM, and did not die of TERM or KILL; or it had ended before the script sent them.
ended_by_itself() {
  [[ ${PSL_STATE[$1]-} == ended ]] || return
  is_settled "$1" && return  # only: background
  if [[ $PSL_OUTCOME != interrupted ]] && ((${PSL_ENDED_AFTER[$1]:-0} < PSL_DECIDED_AFTER)); then
    return 0
  fi
  [[ ! ${PSL_GOT_TERM[$1.${PSL_ATTEMPTS[$1]}]-} ]] &&
    ((${PSL_STATUS[$1]:-0} != 143 && ${PSL_STATUS[$1]:-0} != 137))
}

# print_task_result ROLE INDEX ROLE_NAME: print the result of a task; the name is escaped. A task
# that did not end by itself was stopped, whatever its exit status.
print_task_result() {
  local task=$1.$2 state=stopped code=-220 behaviour=stop node=${PSL_NODE_OF[$1.$2]-}
  if [[ ${PSL_STATE[$task]-} == @(succeeded|failed) ]]; then
    state=${PSL_STATE[$task]}
  elif ended_by_itself "$task"; then
    state=failed
    if [[ ${PSL_BEHAVIOUR_OF[$task]} == success ]]; then
      state=succeeded
    fi
  fi
  if [[ $state != stopped ]]; then
    code=${PSL_CODE_OF[$task]} behaviour=${PSL_BEHAVIOUR_OF[$task]}
  fi
  node=${node:+\"$node\"}
  printf '  {"role": "%s", "index": %d, "task_attempt": %d, "state": "%s", "exit_status": %s, ' \
    "$3" "$2" "${PSL_ATTEMPTS[$task]-0}" "${state^^}" "${PSL_STATUS[$task]-null}"
  printf '"exit_code": %d, "behaviour": "%s", "node": %s, "started_at": %s, "ended_at": %s' \
    "$code" "$behaviour" "${node:-null}" "${PSL_STARTED[$task]:-null}" "${PSL_ENDED[$task]:-null}"
  printf ', "ended_after_ms": %s, "memory_kills": %d, "evidence": [%s]' \
    "${PSL_ENDED_AFTER[$task]:-null}" "${PSL_MEMORY_KILLS_IN[$task.${PSL_ATTEMPTS[$task]-0}]-0}" \
    "${PSL_EVIDENCE[$task]-}"
  print_task_ports "$1" "$2"
  printf '}'
}

# print_task_ports ROLE INDEX: print the ports of a task that started.
print_task_ports() {
  local task=$1.$2 label numbers ports='' node=${PSL_NODE_OF[$1.$2]-} PSL_ESCAPED
  [[ $node && ${PSL_STARTED[$task]-} ]] || return 0
  for label in ${PSL_PORT_COUNTS[$1]-}; do
    label=${label%:*} numbers=${PSL_PORTS_OF[$task.$label]-}
    if [[ $numbers ]]; then
      ports+="${ports:+, }\"$label\": [$numbers]"
    fi
  done
  escape_json "${PSL_ADDRESS_OF[$node]-}"
  printf ', "node_address": "%s", "ports_by_label": {%s}' "$PSL_ESCAPED" "$ports"
}

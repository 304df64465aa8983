# result.json: how the attempt ended. Written whole, then renamed.

# Where this script is, which is its own folder whatever that is called by now: a job that has ended makes room for another
# of its name, and this script may still be tidying.
write_result() {
  [[ $PSL_ENTERED ]] || return 0
  local text
  # By one write, so that a disk that is full spoils nothing.
  text=$(print_result)
  { printf '%s\n' "$text" >result.json.new && mv -- result.json.new result.json; } ||
    log "error: cannot write $PSL_ATTEMPT_FOLDER/result.json"
}

# Escape $1 for JSON, in PSL_ESCAPED.
escape_json() {
  PSL_ESCAPED=${1//\\/\\\\}
  PSL_ESCAPED=${PSL_ESCAPED//\"/\\\"}
  PSL_ESCAPED=${PSL_ESCAPED//$'\n'/\\n}
  PSL_ESCAPED=${PSL_ESCAPED//[[:cntrl:]]/ }
}

print_result() {
  local role index rule threshold comma=''
  escape_json "$PSL_JOB_NAME"
  printf '{"version": 1, "job": "%s", "attempt": %d, "job_id": "%s",\n' "$PSL_ESCAPED" "$PSL_ATTEMPT" "$SLURM_JOB_ID"
  escape_json "$PSL_OUTCOME_REASON"
  printf ' "outcome": "%s", "code": %d, "behaviour": "%s",\n "reason": "%s",\n' \
    "$PSL_OUTCOME" "$PSL_OUTCOME_CODE" "$PSL_OUTCOME_BEHAVIOUR" "$PSL_ESCAPED"
  if [[ $PSL_TRIGGER ]]; then
    read -r rule role index threshold <<<"$PSL_TRIGGER"
    escape_json "${PSL_ROLE_NAME[role]}"
    printf ' "trigger": {"rule": "%s", "role": "%s", "index": %d, "count": %d, "threshold": %d},\n' \
      "$rule" "$PSL_ESCAPED" "$index" "$threshold" "$threshold"
  else
    printf ' "trigger": null,\n'
  fi
  printf ' "started": %d, "ended": %d,\n "tasks": [' "$PSL_BEGAN_AT" "$PSL_DECIDED_AT"
  for role in "${!PSL_ROLE_NAME[@]}"; do
    escape_json "${PSL_ROLE_NAME[role]}"
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      print_task_result "$role" "$index" "$PSL_ESCAPED" "$comma"
      comma=,
    done
  done
  printf '\n ]}\n'
}

print_task_result() {
  local task=$1.$2 state code=-220 behaviour=stop status=${PSL_STATUS[$1.$2]-null} node=${PSL_NODE_OF[$1.$2]-}
  case ${PSL_STATE[$task]-} in
    succeeded | failed)
      state=${PSL_STATE[$task]} code=${PSL_CODE_OF[$task]} behaviour=${PSL_BEHAVIOUR_OF[$task]}
      ;;
    *) state=stopped ;;
  esac
  node=${node:+\"$node\"}
  printf '%s\n  {"role": "%s", "index": %d, "attempt": %d, "state": "%s", "status": %s, "code": %d, "behaviour": "%s", "node": %s, "started": %s, "ended": %s}' \
    "$4" "$3" "$2" "${PSL_ATTEMPTS[$task]-0}" "${state^^}" "$status" "$code" "$behaviour" "${node:-null}" \
    "${PSL_STARTED[$task]:-null}" "${PSL_ENDED[$task]:-null}"
}

# result.json: how the attempt ended. Written whole, then renamed.

# Where this script is, which is its own folder whatever that is called by now: a job that has ended makes room for another
# of its name, and this script may still be tidying.
write_result() {
  [[ $ENTERED ]] || return 0
  local text
  # By one write, so that a disk that is full spoils nothing.
  text=$(print_result)
  { printf '%s\n' "$text" >result.json.new && mv -- result.json.new result.json; } ||
    say "error: cannot write $ATTEMPT_FOLDER/result.json"
}

# Escape $1 for JSON, in ESCAPED.
escape_json() {
  ESCAPED=${1//\\/\\\\}
  ESCAPED=${ESCAPED//\"/\\\"}
  ESCAPED=${ESCAPED//$'\n'/\\n}
  ESCAPED=${ESCAPED//[[:cntrl:]]/ }
}

print_result() {
  local role index rule threshold comma=''
  escape_json "$JOB_NAME"
  printf '{"version": 1, "job": "%s", "attempt": %d, "job_id": "%s",\n' "$ESCAPED" "$ATTEMPT" "$SLURM_JOB_ID"
  escape_json "$OUTCOME_REASON"
  printf ' "outcome": "%s", "code": %d, "behaviour": "%s",\n "reason": "%s",\n' \
    "$OUTCOME" "$OUTCOME_CODE" "$OUTCOME_BEHAVIOUR" "$ESCAPED"
  if [[ $TRIGGER ]]; then
    read -r rule role index threshold <<<"$TRIGGER"
    escape_json "${ROLE_NAME[role]}"
    printf ' "trigger": {"rule": "%s", "role": "%s", "index": %d, "count": %d, "threshold": %d},\n' \
      "$rule" "$ESCAPED" "$index" "$threshold" "$threshold"
  else
    printf ' "trigger": null,\n'
  fi
  printf ' "started": %d, "ended": %d,\n "tasks": [' "$BEGAN_AT" "$DECIDED_AT"
  for role in "${!ROLE_NAME[@]}"; do
    escape_json "${ROLE_NAME[role]}"
    for ((index = 0; index < INSTANCES[role]; index++)); do
      print_task_result "$role" "$index" "$ESCAPED" "$comma"
      comma=,
    done
  done
  printf '\n ]}\n'
}

print_task_result() {
  local task=$1.$2 state code=-220 behaviour=stop status=${STATUS[$1.$2]-null} node=${NODE_OF[$1.$2]-}
  case ${STATE[$task]-} in
    succeeded | failed)
      state=${STATE[$task]} code=${CODE_OF[$task]} behaviour=${BEHAVIOUR_OF[$task]}
      ;;
    *) state=stopped ;;
  esac
  node=${node:+\"$node\"}
  printf '%s\n  {"role": "%s", "index": %d, "attempt": %d, "state": "%s", "status": %s, "code": %d, "behaviour": "%s", "node": %s, "started": %s, "ended": %s}' \
    "$4" "$3" "$2" "${ATTEMPTS[$task]-0}" "${state^^}" "$status" "$code" "$behaviour" "${node:-null}" \
    "${STARTED[$task]:-null}" "${ENDED[$task]:-null}"
}

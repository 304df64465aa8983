# Log that tasks did not get what their binding plans.

# The number of such reports.
PSL_MISMATCH_COUNT=0

# is_mismatch WORD ...: succeed if the words are such a report.
is_mismatch() { are_numbers "${2-x}" "${3-x}" && [[ ${PSL_ROLE_NAME[$2]-} && $# -gt 4 ]]; }

# on_mismatch ROLE INDEX WORD ...: log the report of a task. Each task has it in its own log, so the
# job's log has only the first three.
on_mismatch() {
  PSL_MISMATCH_COUNT=$((PSL_MISMATCH_COUNT + 1))
  if ((PSL_MISMATCH_COUNT <= 3)); then
    log "$3 task ${PSL_ROLE_NAME[$1]}-$2: ${*:4}"
  elif ((PSL_MISMATCH_COUNT == 4)); then
    log "$3 more tasks did not get what their binding plans: see their logs"
  fi
}

# The completion policy. Source: OpenPAI completion policy; rules C1 to C4, ties by time, role, failure first.
# C3 for the whole job is that of protocol v1 of 2018, killAllOnCompletedTaskNumber; it comes last in a tie.

check_completion() {
  local role at best='' rule trigger
  for role in "${!PSL_ROLE_NAME[@]}"; do
    at=${PSL_FAILURE_AT[role]-}
    if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C2 trigger=$role.${at#* }; fi
    at=${PSL_SUCCESS_AT[role]-}
    if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C3 trigger=$role.${at#* }; fi
  done
  at=$PSL_JOB_SUCCESS_AT
  if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C3_of_job trigger=${at#* }; fi
  if [[ $best ]]; then
    if earlier_exit_is_open "$best"; then
      return 0
    fi
    "complete_by_$rule" "${trigger%.*}" "${trigger#*.}"
  elif ((PSL_COMPLETED == PSL_TASK_COUNT)); then
    local failed=0
    for role in "${!PSL_FAILED[@]}"; do failed=$((failed + PSL_FAILED[role])); done
    if ((failed)); then
      decide succeeded 0 success "all $PSL_TASK_COUNT tasks have ended; $failed of them failed, which decides nothing"
    else
      decide succeeded 0 success "all $PSL_TASK_COUNT tasks have succeeded"
    fi
  fi
}

# Whether a task ended by then whose exit is not accepted yet: it may yet decide first.
earlier_exit_is_open() {
  local position
  for ((position = PSL_NEXT_EXIT; position < ${#PSL_EXITS[@]}; position++)); do
    ((PSL_ENDED[${PSL_EXITS[position]}] > $1)) || return 0
  done
  return 1
}

complete_by_C2() {
  local role=$1 index=$2 task=$1.$2 why='' attempt moment kind name
  read -r attempt moment kind name <<<"${PSL_FAILED_IN[$task]-}"
  case $attempt.$moment in
    "${PSL_ATTEMPTS[$task]}.start") why=" in the $kind $name, before its commands" ;;
    "${PSL_ATTEMPTS[$task]}.success") why=" in the $kind $name, after its commands succeeded" ;;
  esac
  ((PSL_CODE_OF[$task] != -1200)) || why+=' because it used more memory than it had asked for'
  if [[ ${PSL_LIMIT_REACHED[$task]-} ]]; then
    case ${PSL_LIMIT_REACHED[$task]} in
      '0 '*) why+=' and is not retried, which the site does not allow' ;;
      '1 '*) why+=" after ${PSL_LIMIT_REACHED[$task]%ies}y, the most that the site allows" ;;
      *) why+=" after ${PSL_LIMIT_REACHED[$task]}, the most that the site allows" ;;
    esac
  fi
  PSL_TRIGGER="C2 $role $index ${PSL_MIN_FAILED[role]}"
  decide failed "${PSL_CODE_OF[$task]}" "${PSL_BEHAVIOUR_OF[$task]}" \
    "task ${PSL_ROLE_NAME[role]}-$index failed with status ${PSL_STATUS[$task]}$why: ${PSL_MIN_FAILED[role]} failed of role ${PSL_ROLE_NAME[role]} end the job"
}

complete_by_C3() {
  local role=$1 index=$2
  PSL_TRIGGER="C3 $role $index ${PSL_MIN_SUCCEEDED[role]}"
  decide succeeded 0 success \
    "task ${PSL_ROLE_NAME[role]}-$index succeeded: ${PSL_MIN_SUCCEEDED[role]} succeeded of role ${PSL_ROLE_NAME[role]} complete the job"
}

complete_by_C3_of_job() {
  PSL_TRIGGER="C3 $1 $2 $PSL_MIN_SUCCEEDED_OF_JOB"
  decide succeeded 0 success \
    "task ${PSL_ROLE_NAME[$1]}-$2 succeeded: $PSL_MIN_SUCCEEDED_OF_JOB succeeded of all roles complete the job"
}

# decide OUTCOME CODE BEHAVIOUR REASON: the first decision stands.
decide() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  read_clock
  PSL_OUTCOME=$1 PSL_OUTCOME_CODE=$2 PSL_OUTCOME_BEHAVIOUR=$3 PSL_OUTCOME_REASON=$4 PSL_DECIDED_AT=$PSL_NOW
  log "$PSL_OUTCOME (code $PSL_OUTCOME_CODE): $PSL_OUTCOME_REASON"
  ((PSL_SUPERVISING)) || return 0
  write_result
  stop_tasks
}

# What is still running gets TERM, and KILL after the grace time. Steps whose tasks have all ended are ending, too.
stop_tasks() {
  local role
  local -a running=()
  case $PSL_OUTCOME:$PSL_OUTCOME_CODE in
    interrupted:*) PSL_STOP_AT=$((PSL_NOW + PSL_INTERRUPTED_GRACE)) ;;
    *:-1004) PSL_STOP_AT=$((PSL_NOW + PSL_WARNING)) ;;
    *) PSL_STOP_AT=$((PSL_NOW + PSL_GRACE)) ;;
  esac
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    ((PSL_GANG)) || send_command "$role" quit
    if has_open_tasks "$role"; then
      running+=("$role")
    fi
  done
  [[ $PSL_OUTCOME == interrupted ]] || signal_steps TERM ${running[@]+"${running[@]}"}
}

# The grace time is over. A step that does not even end now is left to Slurm.
kill_steps() {
  if ((PSL_KILLS == 0)); then
    signal_steps KILL "${!PSL_STEP_RUNNING[@]}"
    PSL_STOP_AT=$((PSL_NOW + 10)) PSL_KILLS=1 PSL_NEEDS_CLEANUP=1
  else
    PSL_STEP_RUNNING=()
  fi
}


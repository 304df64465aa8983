# Decide when the job is complete, and stop what still runs.

# The rules are C1 to C4 of the completion policy. The earliest exit that reaches a threshold
# decides, by whole seconds; in a tie the earlier role, and failure before success. The threshold
# over the whole job is killAllOnCompletedTaskNumber of protocol v1 of 2018; it comes last in a tie.
# Source: OpenPAI completion policy.
check_completion() {
  find_first_threshold
  if [[ $PSL_FIRST_RULE ]]; then
    if has_unaccepted_exit "$PSL_FIRST_AT"; then
      return 0
    fi
    "complete_by_$PSL_FIRST_RULE" "${PSL_FIRST_TASK%.*}" "${PSL_FIRST_TASK#*.}"
  elif ((PSL_TASKS_COMPLETED == PSL_TASK_COUNT)); then
    complete_by_C4
  fi
}

# Set PSL_FIRST_RULE, PSL_FIRST_AT and PSL_FIRST_TASK by the threshold that was reached first.
find_first_threshold() {
  local role at
  PSL_FIRST_RULE='' PSL_FIRST_AT='' PSL_FIRST_TASK=''
  if ((${#PSL_FAILURE_AT[@]} + ${#PSL_SUCCESS_AT[@]} == 0)) && [[ ! $PSL_JOB_SUCCESS_AT ]]; then
    return 0
  fi
  for role in "${!PSL_ROLE_NAME[@]}"; do
    at=${PSL_FAILURE_AT[role]-}
    if [[ $at ]]; then
      note_threshold C2 "${at% *}" "$role.${at#* }"
    fi
    at=${PSL_SUCCESS_AT[role]-}
    if [[ $at ]]; then
      note_threshold C3 "${at% *}" "$role.${at#* }"
    fi
  done
  at=$PSL_JOB_SUCCESS_AT
  if [[ $at ]]; then
    note_threshold C3_of_job "${at% *}" "${at#* }"
  fi
}

# note_threshold RULE TIME TASK: keep this threshold if it was reached before the ones noted so far.
note_threshold() {
  if [[ ! $PSL_FIRST_AT ]] || (($2 < PSL_FIRST_AT)); then
    PSL_FIRST_RULE=$1 PSL_FIRST_AT=$2 PSL_FIRST_TASK=$3
  fi
}

# has_unaccepted_exit TIME: whether a task has ended by then whose exit is not accepted yet. Once it
# is, that exit may decide first.
has_unaccepted_exit() {
  local position
  for ((position = PSL_NEXT_EXIT; position < ${#PSL_EXITS[@]}; position++)); do
    if ((PSL_ENDED[${PSL_EXITS[position]}] <= $1)); then
      return 0
    fi
  done
  return 1
}

# complete_by_C2 ROLE INDEX: so many tasks of a role have failed that the job fails.
complete_by_C2() {
  local role=$1 index=$2 task=$1.$2 name=${PSL_ROLE_NAME[$1]}
  explain_failure "$task"
  describe_threshold "${PSL_MIN_FAILED[role]}" failed "role $name" end
  PSL_TRIGGER="C2 $role $index ${PSL_MIN_FAILED[role]}"
  decide failed "${PSL_CODE_OF[$task]}" "${PSL_BEHAVIOUR_OF[$task]}" \
    "task $name-$index failed with status ${PSL_STATUS[$task]}$PSL_EXPLANATION: $PSL_THRESHOLD"
}

# describe_threshold COUNT HOW OF VERB: set PSL_THRESHOLD to what so many tasks do to the job, as in
# "2 failed tasks of role worker end the job".
describe_threshold() {
  if (($1 == 1)); then
    PSL_THRESHOLD="1 $2 task of $3 $4s the job"
  else
    PSL_THRESHOLD="$1 $2 tasks of $3 $4 the job"
  fi
}

# explain_failure TASK: set PSL_EXPLANATION to what is known of a failure beside its status.
explain_failure() {
  local task=$1 attempt moment kind name
  PSL_EXPLANATION=''
  read -r attempt moment kind name <<<"${PSL_FAILED_IN[$task]-}"
  case $attempt.$moment in
    "${PSL_ATTEMPTS[$task]}.start") PSL_EXPLANATION=" in the $kind $name, before its commands" ;;
    "${PSL_ATTEMPTS[$task]}.success")
      PSL_EXPLANATION=" in the $kind $name, after its commands succeeded"
      ;;
  esac
  if ((PSL_CODE_OF[$task] == -1200)); then
    PSL_EXPLANATION+=' because it used more memory than it had asked for'
  fi
  if ((!PSL_GANG)); then
    explain_limit "$task"
  fi
}

# complete_by_C3 ROLE INDEX: so many tasks of a role have succeeded that the job succeeds.
complete_by_C3() {
  local role=$1 index=$2 name=${PSL_ROLE_NAME[$1]}
  describe_threshold "${PSL_MIN_SUCCEEDED[role]}" succeeded "role $name" complete
  PSL_TRIGGER="C3 $role $index ${PSL_MIN_SUCCEEDED[role]}"
  decide succeeded 0 success "task $name-$index succeeded: $PSL_THRESHOLD"
}

# complete_by_C3_of_job ROLE INDEX: so many tasks of all roles have succeeded that the job succeeds.
complete_by_C3_of_job() {
  describe_threshold "$PSL_MIN_SUCCEEDED_OF_JOB" succeeded 'all roles' complete
  PSL_TRIGGER="C3 $1 $2 $PSL_MIN_SUCCEEDED_OF_JOB"
  decide succeeded 0 success "task ${PSL_ROLE_NAME[$1]}-$2 succeeded: $PSL_THRESHOLD"
}

# All tasks have ended, and no threshold was reached.
complete_by_C4() {
  local role failed=0
  for role in "${!PSL_FAILED[@]}"; do
    failed=$((failed + PSL_FAILED[role]))
  done
  if ((PSL_TASK_COUNT == 1 && failed)); then
    decide succeeded 0 success 'the only task has failed, which decides nothing'
  elif ((PSL_TASK_COUNT == 1)); then
    decide succeeded 0 success 'the only task has succeeded'
  elif ((failed)); then
    decide succeeded 0 success \
      "all $PSL_TASK_COUNT tasks have ended; $failed of them failed, which decides nothing"
  else
    decide succeeded 0 success "all $PSL_TASK_COUNT tasks have succeeded"
  fi
}

# decide OUTCOME CODE BEHAVIOUR REASON: end the job so. Only the first decision counts.
decide() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  read_clock
  PSL_OUTCOME=$1 PSL_OUTCOME_CODE=$2 PSL_OUTCOME_BEHAVIOUR=$3 PSL_OUTCOME_REASON=$4
  PSL_DECIDED_AT=$PSL_NOW
  if [[ $PSL_OUTCOME == interrupted ]]; then
    # Which code that is depends on what ended the job, and Slurm alone knows that.
    log "$PSL_OUTCOME: $PSL_OUTCOME_REASON"
  else
    log "$PSL_OUTCOME (code $PSL_OUTCOME_CODE): $PSL_OUTCOME_REASON"
  fi
  if ((PSL_SUPERVISING)); then
    write_result
    stop_tasks
  fi
}

# Send TERM to the tasks that still run; KILL follows after the grace time. Of a job that is ended
# from outside all tasks have got TERM. Steps whose tasks have all ended are ending, too.
stop_tasks() {
  local role
  local -a running=()
  case $PSL_OUTCOME:$PSL_OUTCOME_CODE in
    interrupted:*) PSL_STOP_AT=$((PSL_NOW + PSL_INTERRUPTED_GRACE)) ;;
    *:-1004) PSL_STOP_AT=$((PSL_NOW + PSL_WARNING)) ;;
    *) PSL_STOP_AT=$((PSL_NOW + PSL_GRACE)) ;;
  esac
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    if has_open_tasks "$role"; then
      running+=("$role")
    fi
  done
  send_to_all_steps quit
  if [[ $PSL_OUTCOME != interrupted ]]; then
    signal_steps TERM ${running[@]+"${running[@]}"}
  fi
}

# After the decision: send TERM to steps that began late, and kill all steps after the grace time.
stop_late_steps() {
  if ((PSL_NOW >= PSL_STOP_AT)); then
    kill_steps
  elif ((${#PSL_STARTED_AFTER_DECISION[@]})); then
    signal_steps TERM "${!PSL_STARTED_AFTER_DECISION[@]}"
    PSL_STARTED_AFTER_DECISION=()
  fi
}

# Send KILL to the steps that still run. A step that runs 10 s later is left to Slurm.
kill_steps() {
  if ((PSL_KILL_SENT)); then
    PSL_STEP_RUNNING=()
    return
  fi
  signal_steps KILL "${!PSL_STEP_RUNNING[@]}"
  PSL_STOP_AT=$((PSL_NOW + 10)) PSL_KILL_SENT=1 PSL_NEEDS_CLEANUP=1
}

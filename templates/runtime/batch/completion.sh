# Decide when the job is complete, and stop what still runs.

# check_completion: apply rules C1 to C4 of the completion policy. The earliest exit that reaches a
# threshold decides, by whole seconds; in a tie the earlier role decides, and failure before
# success. The threshold over the whole job is killAllOnCompletedTaskNumber of protocol v1 of 2018;
# it comes last in a tie.
# Source: OpenPAI completion policy.
check_completion() {
  local reached at rule task first=''
  for reached in ${PSL_REACHED[@]+"${PSL_REACHED[@]}"}; do
    if [[ ! $first ]] || ((${reached%% *} < ${first%% *})); then
      first=$reached
    fi
  done
  if [[ $first ]]; then
    read -r at rule task <<<"$first"
    has_unaccepted_exit "$at" || "complete_by_$rule" "${task%.*}" "${task#*.}"
  elif ((PSL_TASKS_COMPLETED == PSL_TASK_COUNT)); then
    complete_by_C4
  fi
}

# has_unaccepted_exit TIME: succeed if a task that has ended by then has an exit that is not
# accepted yet. That exit may decide first.
has_unaccepted_exit() {
  local position
  for ((position = PSL_NEXT_EXIT; position < ${#PSL_EXITS[@]}; position++)); do
    if ((${PSL_ENDED[${PSL_EXITS[position]}]:-0} <= $1)); then
      return 0
    fi
  done
  return 1
}

# complete_by_C2 ROLE INDEX: fail the job: the failed tasks of a role have reached the threshold.
complete_by_C2() {
  local role=$1 index=$2 task=$1.$2 name=${PSL_ROLE_NAME[$1]}
  explain_failure "$task"
  describe_threshold "${PSL_MIN_FAILED[role]}" failed "role $name" end
  PSL_TRIGGER="C2 $role $index ${PSL_MIN_FAILED[role]}"
  decide failed "${PSL_CODE_OF[$task]}" "${PSL_BEHAVIOUR_OF[$task]}" \
    "task $name-$index failed with status ${PSL_STATUS[$task]}$PSL_EXPLANATION: $PSL_THRESHOLD"
}

# describe_threshold COUNT HOW OF VERB: set PSL_THRESHOLD to a description of a threshold: "2 failed
# tasks of role worker end the job".
describe_threshold() {
  if (($1 == 1)); then
    PSL_THRESHOLD="1 $2 task of $3 $4s the job"
  else
    PSL_THRESHOLD="$1 $2 tasks of $3 $4 the job"
  fi
}

# explain_failure TASK: set PSL_EXPLANATION to the known cause of a failure, beyond its status.
explain_failure() {
  local task=$1
  PSL_EXPLANATION=''
  explain_failed_hook "$task"  # only: hooks
  if ((${PSL_CODE_OF[$task]:-0} == -1200)); then
    PSL_EXPLANATION+=' because it used more memory than it had asked for'
  fi
  explain_limit "$task"  # only: slots
}

# complete_by_C4: decide when all tasks have ended and no threshold was reached.
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

# decide OUTCOME CODE BEHAVIOUR REASON: end the job with this outcome. Only the first decision
# counts.
decide() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  if [[ $1 != succeeded ]] && stop_for_requeue; then  # only: requeue
    return 0  # only: requeue
  fi  # only: requeue
  read_clock
  PSL_OUTCOME=$1 PSL_OUTCOME_CODE=$2 PSL_OUTCOME_BEHAVIOUR=$3 PSL_OUTCOME_REASON=$4
  read_uptime
  PSL_DECIDED_AT=$PSL_NOW PSL_DECIDED_AFTER=$((PSL_UPTIME - PSL_BEGAN_UPTIME))
  if [[ $PSL_OUTCOME == interrupted ]]; then
    # The code depends on the cause of the end, which only Slurm knows.
    log "$PSL_OUTCOME: $PSL_OUTCOME_REASON"
  else
    log "$PSL_OUTCOME (code $PSL_OUTCOME_CODE): $PSL_OUTCOME_REASON"
  fi
  if ((PSL_SUPERVISING)); then
    settle_tasks  # only: background
    write_result
    stop_tasks
  fi
}

# stop_tasks: send TERM to the tasks that still run; KILL follows after the grace time. If Slurm
# ends the job, all tasks have got TERM already. Steps whose tasks have all ended end by themselves.
stop_tasks() {
  local role
  local -a running=()
  case $PSL_SLURM_ENDS:$PSL_OUTCOME_CODE in
    1:*) PSL_STOP_AT=$((PSL_NOW + PSL_INTERRUPTED_GRACE)) ;;
    *:-1004) PSL_STOP_AT=$((PSL_NOW + PSL_WARNING)) ;;
    *) PSL_STOP_AT=$((PSL_NOW + PSL_GRACE)) ;;
  esac
  for role in "${!PSL_STEP_RUNNING[@]}"; do
    if has_open_tasks "$role"; then
      running+=("$role")
    fi
  done
  send_to_all_steps quit
  if [[ ! $PSL_SLURM_ENDS ]]; then
    signal_steps TERM ${running[@]+"${running[@]}"}
  fi
}

# stop_late_steps: after the decision, send TERM to steps that started late, and kill all steps
# after the grace time. If Slurm ends the job, it signals the steps itself, and refuses others.
stop_late_steps() {
  if ((PSL_NOW >= PSL_STOP_AT)); then
    kill_steps
  elif ((${#PSL_TERM_DUE[@]})); then
    if [[ ! $PSL_SLURM_ENDS ]]; then
      signal_steps TERM "${!PSL_TERM_DUE[@]}"
    fi
    PSL_TERM_DUE=()
  fi
}

# kill_steps: send KILL to the steps that still run. A step that runs 10 s later is left to Slurm.
kill_steps() {
  if ((PSL_KILL_SENT)); then
    PSL_STEP_RUNNING=()
    return
  fi
  signal_steps KILL "${!PSL_STEP_RUNNING[@]}"
  PSL_STOP_AT=$((PSL_NOW + 10)) PSL_KILL_SENT=1 PSL_NEEDS_CLEANUP=1
}

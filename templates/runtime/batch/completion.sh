# The completion policy. Source: OpenPAI completion policy; rules C1 to C4, ties by time, role, failure first.
# C3 for the whole job is that of protocol v1 of 2018, killAllOnCompletedTaskNumber; it comes last in a tie.

look_for_outcome() {
  local role at best='' rule trigger
  for role in "${!ROLE_NAME[@]}"; do
    at=${FAILURE_AT[role]-}
    if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C2 trigger=$role.${at#* }; fi
    at=${SUCCESS_AT[role]-}
    if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C3 trigger=$role.${at#* }; fi
  done
  at=$JOB_SUCCESS_AT
  if [[ $at ]] && { [[ ! $best ]] || ((${at% *} < best)); }; then best=${at% *} rule=C3_of_job trigger=${at#* }; fi
  if [[ $best ]]; then
    ! earlier_exit_is_open "$best" || return 0
    "complete_by_$rule" "${trigger%.*}" "${trigger#*.}"
  elif ((COMPLETED == TASK_COUNT)); then
    local failed=0
    for role in "${!FAILED[@]}"; do failed=$((failed + FAILED[role])); done
    if ((failed)); then
      decide succeeded 0 success "all $TASK_COUNT tasks have ended; $failed of them failed, which decides nothing"
    else
      decide succeeded 0 success "all $TASK_COUNT tasks have succeeded"
    fi
  fi
}

# Whether a task ended by then whose exit is not accepted yet: it may yet decide first.
earlier_exit_is_open() {
  local position
  for ((position = NEXT_EXIT; position < ${#EXITS[@]}; position++)); do
    ((ENDED[${EXITS[position]}] > $1)) || return 0
  done
  return 1
}

complete_by_C2() {
  local role=$1 index=$2 task=$1.$2 why='' attempt moment kind name
  read -r attempt moment kind name <<<"${FAILED_IN[$task]-}"
  case $attempt.$moment in
    "${ATTEMPTS[$task]}.start") why=" in the $kind $name, before its commands" ;;
    "${ATTEMPTS[$task]}.success") why=" in the $kind $name, after its commands succeeded" ;;
  esac
  ((CODE_OF[$task] != -1200)) || why+=' because it used more memory than it had asked for'
  if [[ ${CEILING_HIT[$task]-} ]]; then
    case ${CEILING_HIT[$task]} in
      '0 '*) why+=' and is not retried, which the site does not allow' ;;
      '1 '*) why+=" after ${CEILING_HIT[$task]%ies}y, the most that the site allows" ;;
      *) why+=" after ${CEILING_HIT[$task]}, the most that the site allows" ;;
    esac
  fi
  TRIGGER="C2 $role $index ${MIN_FAILED[role]}"
  decide failed "${CODE_OF[$task]}" "${BEHAVIOUR_OF[$task]}" \
    "task ${ROLE_NAME[role]}-$index failed with status ${STATUS[$task]}$why: ${MIN_FAILED[role]} failed of role ${ROLE_NAME[role]} end the job"
}

complete_by_C3() {
  local role=$1 index=$2
  TRIGGER="C3 $role $index ${MIN_SUCCEEDED[role]}"
  decide succeeded 0 success \
    "task ${ROLE_NAME[role]}-$index succeeded: ${MIN_SUCCEEDED[role]} succeeded of role ${ROLE_NAME[role]} complete the job"
}

complete_by_C3_of_job() {
  TRIGGER="C3 $1 $2 $MIN_SUCCEEDED_OF_JOB"
  decide succeeded 0 success \
    "task ${ROLE_NAME[$1]}-$2 succeeded: $MIN_SUCCEEDED_OF_JOB succeeded of all roles complete the job"
}

# decide OUTCOME CODE BEHAVIOUR REASON: the first decision stands.
decide() {
  [[ ! $OUTCOME ]] || return 0
  read_clock
  OUTCOME=$1 OUTCOME_CODE=$2 OUTCOME_BEHAVIOUR=$3 OUTCOME_REASON=$4 DECIDED_AT=$NOW
  say "$OUTCOME (code $OUTCOME_CODE): $OUTCOME_REASON"
  ((SUPERVISING)) || return 0
  write_result
  stop_tasks
}

# What is still running gets TERM, and KILL after the grace time. Steps whose tasks have all ended are ending, too.
stop_tasks() {
  local role
  local -a running=()
  case $OUTCOME:$OUTCOME_CODE in
    interrupted:*) STOP_AT=$((NOW + INTERRUPTED_GRACE)) ;;
    *:-1004) STOP_AT=$((NOW + WARNING)) ;;
    *) STOP_AT=$((NOW + GRACE)) ;;
  esac
  for role in "${!STEP_OPEN[@]}"; do
    ((GANG)) || order "$role" quit
    ! has_open_tasks "$role" || running+=("$role")
  done
  [[ $OUTCOME == interrupted ]] || signal_steps TERM ${running[@]+"${running[@]}"}
}

# The grace time is over. A step that does not even end now is left to Slurm.
kill_steps() {
  if ((KILLS == 0)); then
    signal_steps KILL "${!STEP_OPEN[@]}"
    STOP_AT=$((NOW + 10)) KILLS=1 SWEEP=1
  else
    STEP_OPEN=()
  fi
}


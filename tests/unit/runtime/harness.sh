# Drive the supervision of jobs that are made up. Fakes: the clock, the channel, and what is told to steps.
#
# Standard input, a case after the other: "job PSL_GANG CEILING RESTARTS OF_JOB", "role INSTANCES SLOTS PSL_MIN_FAILED PSL_MIN_SUCCEEDED RETRIES",
# then "at TIME LINE" for what arrives on the channel (with gang), or "run ROLE INDEX ATTEMPT SECONDS STATUS CODE
# BEHAVIOUR" for what a task does when it is told to run (without gang), "term TIME", and "go". With "manual", a task that
# is told to run does so until "end TIME ROLE INDEX STATUS CODE BEHAVIOUR"; the result, and the time to KILL, are printed.

PSL_SCRATCH='' LINES_AT=() TOLD=''
declare -A RUNS=() RUN_OF=()
MANUAL='' ENDS_AT=() TO_KILL=''

read_clock() { :; }
write_result() { :; }
signal_steps() { TOLD+="$1 "; }
has_open_tasks() { return 1; }
log() { :; }
find_srun_log() { PSL_SRUN_LOG=''; }
explain_launch() { PSL_LAUNCH_FAILURE='-1402 transient' PSL_LAUNCH_NODE='' PSL_LAUNCH_WORDS=''; }

# The channel: what arrives at a time can all be read at that time.
read() {
  if [[ $* == '-r -t 0' ]]; then arrived; else builtin read "$@"; fi
}

read_words() {
  if arrived; then next_line; else PSL_NOW=$((PSL_NOW + 1)) && on_tick && return 1; fi
}

arrived() { [[ ${LINES_AT[PSL_NOW]-} ]]; }

next_line() {
  builtin read -r -a PSL_WORDS <<<"${LINES_AT[PSL_NOW]%%$'\n'*}"
  LINES_AT[PSL_NOW]=${LINES_AT[PSL_NOW]#*$'\n'}
  [[ ${PSL_WORDS[0]-} != exit ]] || printf 'exited %s\n' "${PSL_WORDS[*]:1}"
}

on_tick() {
  local role index status code behaviour slot attempt
  [[ $PSL_NOW != "$TERM_AT" ]] || on_signal TERM
  [[ ${ENDS_AT[PSL_NOW]-} ]] || return 0
  while builtin read -r role index status code behaviour; do
    builtin read -r slot attempt <<<"${RUN_OF[$role.$index]-}"
    LINES_AT[PSL_NOW]=${LINES_AT[PSL_NOW]-}"exit $role $slot $index $attempt $status $code $behaviour $PSL_NOW"$'\n'
    LINES_AT[PSL_NOW]+="free $role $slot"$'\n'
  done <<<"${ENDS_AT[PSL_NOW]%$'\n'}"
}

# Without gang: a slot does what it is told.
send_command() {
  local role=$1 word slot index attempt seconds status code behaviour
  builtin read -r word slot index attempt <<<"$2"
  if [[ $word == quit && $PSL_OUTCOME && ! $TO_KILL ]]; then TO_KILL=$((PSL_STOP_AT - PSL_NOW)); fi
  [[ $word == run ]] || return 0
  if [[ $MANUAL ]]; then
    RUN_OF[$role.$index]="$slot $attempt"
    LINES_AT[PSL_NOW]=${LINES_AT[PSL_NOW]-}"start $role $slot $index $attempt n$role.$index 1 $PSL_NOW"$'\n'
    return
  fi
  printf 'ordered %s %s %s %s\n' "$role" "$index" "$attempt" "$PSL_NOW"
  builtin read -r seconds status code behaviour <<<"${RUNS[$role.$index.$attempt]-1 0 0 success}"
  LINES_AT[PSL_NOW]=${LINES_AT[PSL_NOW]-}"start $role $slot $index $attempt n1 1 $PSL_NOW"$'\n'
  LINES_AT[PSL_NOW + seconds]=${LINES_AT[PSL_NOW + seconds]-}"exit $role $slot $index $attempt $status $code $behaviour $((PSL_NOW + seconds))"$'\n'
  LINES_AT[PSL_NOW + seconds]+="free $role $slot"$'\n'
}

run_case() {
  local role slot task text
  PSL_NOW=1000 PSL_BEGAN_AT=1000 PSL_EVENT_FD=0 PSL_JOB_NAME=demo PSL_ATTEMPT=0 SLURM_JOB_ID=1 PSL_GRACE=5 PSL_INTERRUPTED_GRACE=3 PSL_WARNING=9
  for role in "${!PSL_ROLE_NAME[@]}"; do
    PSL_SUCCEEDED[role]=0 PSL_FAILED[role]=0 PSL_NEXT_TASK[role]=0 PSL_STEP_RUNNING[role]=1
    PSL_TASK_COUNT=$((PSL_TASK_COUNT + PSL_INSTANCES[role]))
    if ((!PSL_GANG)); then
      for ((slot = 0; slot < PSL_SLOTS[role]; slot++)); do LINES_AT[PSL_NOW]=${LINES_AT[PSL_NOW]-}"free $role $slot"$'\n'; done
    fi
  done
  supervise </dev/null
  printf 'outcome %s %s %s %s %s\n' "$PSL_OUTCOME" "$PSL_OUTCOME_CODE" "$PSL_OUTCOME_BEHAVIOUR" "$PSL_DECIDED_AT" "${PSL_TRIGGER:-none}"
  for task in "${!PSL_STATE[@]}"; do printf 'task %s %s %s\n' "$task" "${PSL_STATE[$task]}" "${PSL_ATTEMPTS[$task]}"; done
  printf 'told %s\n' "$TOLD"
  if [[ $MANUAL ]]; then
    text=$(print_result)
    printf 'kill %s\nresult %s\n' "$TO_KILL" "${text//$'\n'/ }"
  fi
}

run_cases() {
  local word rest role=0
  while builtin read -r word rest; do
    case $word in
      job)
        builtin read -r PSL_GANG PSL_MAX_TRANSIENT_RETRIES PSL_MAX_RESTARTS PSL_MIN_SUCCEEDED_OF_JOB <<<"$rest"
        role=0 LINES_AT=() RUNS=() TERM_AT='' MANUAL='' ENDS_AT=() RUN_OF=() TO_KILL=''
        PSL_ROLE_NAME=() PSL_INSTANCES=() PSL_SLOTS=() PSL_MIN_FAILED=() PSL_MIN_SUCCEEDED=() PSL_TASK_RETRIES=()
        ;;
      role)
        builtin read -r "PSL_INSTANCES[role]" "PSL_SLOTS[role]" "PSL_MIN_FAILED[role]" "PSL_MIN_SUCCEEDED[role]" "PSL_TASK_RETRIES[role]" <<<"$rest"
        PSL_ROLE_NAME[role]=r$role role=$((role + 1))
        ;;
      at) LINES_AT[${rest%% *}]=${LINES_AT[${rest%% *}]-}"${rest#* }"$'\n' ;;
      run)
        builtin read -r -a words <<<"$rest"
        RUNS[${words[0]}.${words[1]}.${words[2]}]="${words[*]:3}"
        ;;
      manual) MANUAL=1 ;;
      end) ENDS_AT[${rest%% *}]=${ENDS_AT[${rest%% *}]-}"${rest#* }"$'\n' ;;
      term) TERM_AT=$rest ;;
      go)
        (run_case)
        printf 'end\n'
        ;;
    esac
  done
}

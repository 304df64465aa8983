# Drive the supervision of jobs that are made up. Fakes: the clock, the channel, and what is told to steps.
#
# Standard input, a case after the other: "job GANG CEILING RESTARTS OF_JOB", "role INSTANCES SLOTS MIN_FAILED MIN_SUCCEEDED RETRIES",
# then "at TIME LINE" for what arrives on the channel (with gang), or "run ROLE INDEX ATTEMPT SECONDS STATUS CODE
# BEHAVIOUR" for what a task does when it is told to run (without gang), "term TIME", and "go".

SCRATCH='' LINES_AT=() TOLD=''
declare -A RUNS=()

read_clock() { :; }
write_result() { :; }
signal_steps() { TOLD+="$1 "; }
has_open_tasks() { return 1; }
say() { :; }
log_of_step() { LOG=''; }
explain_launch() { LAUNCH='-1402 transient' LAUNCH_NODE='' LAUNCH_WORDS=''; }

# The channel: what arrives at a time can all be read at that time.
read() {
  if [[ $* == '-r -t 0' ]]; then arrived; else builtin read "$@"; fi
}

read_words() {
  if arrived; then next_line; else NOW=$((NOW + 1)) && on_tick && return 1; fi
}

arrived() { [[ ${LINES_AT[NOW]-} ]]; }

next_line() {
  builtin read -r -a WORDS <<<"${LINES_AT[NOW]%%$'\n'*}"
  LINES_AT[NOW]=${LINES_AT[NOW]#*$'\n'}
  [[ ${WORDS[0]-} != exit ]] || printf 'exited %s\n' "${WORDS[*]:1}"
}

on_tick() { [[ $NOW != "$TERM_AT" ]] || on_signal TERM; }

# Without gang: a slot does what it is told.
order() {
  local role=$1 word slot index attempt seconds status code behaviour
  builtin read -r word slot index attempt <<<"$2"
  [[ $word == run ]] || return 0
  printf 'ordered %s %s %s %s\n' "$role" "$index" "$attempt" "$NOW"
  builtin read -r seconds status code behaviour <<<"${RUNS[$role.$index.$attempt]-1 0 0 success}"
  LINES_AT[NOW]=${LINES_AT[NOW]-}"start $role $slot $index $attempt n1 1 $NOW"$'\n'
  LINES_AT[NOW + seconds]=${LINES_AT[NOW + seconds]-}"exit $role $slot $index $attempt $status $code $behaviour $((NOW + seconds))"$'\n'
  LINES_AT[NOW + seconds]+="free $role $slot"$'\n'
}

run_case() {
  local role slot task
  NOW=1000 BEGAN_AT=1000 EVENTS=0 GRACE=5 INTERRUPTED_GRACE=3 WARNING=9
  for role in "${!ROLE_NAME[@]}"; do
    SUCCEEDED[role]=0 FAILED[role]=0 NEXT_TASK[role]=0 STEP_OPEN[role]=1
    TASK_COUNT=$((TASK_COUNT + INSTANCES[role]))
    if ((!GANG)); then
      for ((slot = 0; slot < SLOTS[role]; slot++)); do LINES_AT[NOW]=${LINES_AT[NOW]-}"free $role $slot"$'\n'; done
    fi
  done
  supervise </dev/null
  printf 'outcome %s %s %s %s %s\n' "$OUTCOME" "$OUTCOME_CODE" "$OUTCOME_BEHAVIOUR" "$DECIDED_AT" "${TRIGGER:-none}"
  for task in "${!STATE[@]}"; do printf 'task %s %s %s\n' "$task" "${STATE[$task]}" "${ATTEMPTS[$task]}"; done
  printf 'told %s\n' "$TOLD"
}

run_cases() {
  local word rest role=0
  while builtin read -r word rest; do
    case $word in
      job)
        builtin read -r GANG TRANSIENT_CEILING RESTART_LIMIT MIN_SUCCEEDED_OF_JOB <<<"$rest"
        role=0 LINES_AT=() RUNS=() TERM_AT=''
        ROLE_NAME=() INSTANCES=() SLOTS=() MIN_FAILED=() MIN_SUCCEEDED=() TASK_RETRIES=()
        ;;
      role)
        builtin read -r "INSTANCES[role]" "SLOTS[role]" "MIN_FAILED[role]" "MIN_SUCCEEDED[role]" "TASK_RETRIES[role]" <<<"$rest"
        ROLE_NAME[role]=r$role role=$((role + 1))
        ;;
      at) LINES_AT[${rest%% *}]=${LINES_AT[${rest%% *}]-}"${rest#* }"$'\n' ;;
      run)
        builtin read -r -a words <<<"$rest"
        RUNS[${words[0]}.${words[1]}.${words[2]}]="${words[*]:3}"
        ;;
      term) TERM_AT=$rest ;;
      go)
        (run_case)
        printf 'end\n'
        ;;
    esac
  done
}

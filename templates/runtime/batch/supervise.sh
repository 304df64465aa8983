# Supervision: one loop reads what the tasks of all roles report, retries tasks, and decides when the job is complete.
# While tasks run it reads one channel and touches no file that other nodes share, unless a task is lost.

supervise() {
  PSL_SUPERVISING=1
  while ((${#PSL_STEP_RUNNING[@]})) || [[ ! $PSL_OUTCOME ]]; do
    # All lines that are there are taken in before anything is decided.
    if read_words "$PSL_EVENT_FD"; then
      read_clock
      dispatch_event ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}
      while read -r -t 0 <&"$PSL_EVENT_FD" && read_words "$PSL_EVENT_FD"; do dispatch_event ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}; done
    fi
    read_clock
    if [[ $PSL_LAUNCH_OF ]]; then
      settle_launch
    else
      accept_exits
      [[ $PSL_OUTCOME ]] || check_completion
    fi
    if [[ ! $PSL_OUTCOME ]]; then
      ((PSL_GANG)) || start_due_retries
      fail_waiting_steps
    elif ((PSL_NOW >= PSL_STOP_AT)); then
      kill_steps
    elif ((${#PSL_STARTED_AFTER_DECISION[@]})); then
      signal_steps TERM "${!PSL_STARTED_AFTER_DECISION[@]}"
      PSL_STARTED_AFTER_DECISION=()
    fi
  done
}

# A line of the channel, as words. Only our own programs can write there, and only these lines mean something.
dispatch_event() {
  # Words that are no numbers never reach arithmetic.
  case $#:${1-} in
    8:start) [[ "${*:2:4} $7 $8" =~ ^[0-9\ ]+$ ]] || return 0 ;;
    9:exit) [[ "${*:2:5} $9" =~ ^[0-9\ ]+$ && $7 =~ ^-?[0-9]+$ && $8 =~ ^[a-z]+$ ]] || return 0 ;;
    8:failed) [[ "${*:2:4}" =~ ^[0-9\ ]+$ && "$6 $7" =~ ^[a-z]+\ [a-z]+$ && $8 =~ ^[A-Za-z0-9_-]+$ ]] || return 0 ;;
    2:signal) ;;
    3:lost | 3:unlaunched) [[ $2 =~ ^[0-9]+$ ]] || return 0 ;;
    *) [[ "${*:2}" =~ ^[0-9\ ]+$ ]] || return 0 ;;
  esac
  case $#:${1-} in
    8:start) on_start "${@:2}" ;;
    5:term) PSL_GOT_TERM[$2.$4.$5]=1 ;;
    8:failed) PSL_FAILED_IN[$2.$4]="${*:5}" ;;
    9:exit) on_exit "${@:2:7}" ;;
    3:free) ((PSL_GANG)) || on_free "$2" "$3" ;;
    5:died) on_task_killed "${@:2}" ;;
    3:lost) on_node_loss "$2" "$3" ;;
    3:unlaunched) on_launch_failure "$2" "$3" ;;
    3:step) on_step_end "$2" "$3" ;;
    2:signal) on_signal "$2" ;;
  esac
}

# start ROLE SLOT INDEX ATTEMPT NODE STEP TIME
on_start() {
  local role=$1 task=$1.$3
  [[ ! ${PSL_STATE[$task]-} || ${PSL_ATTEMPTS[$task]} -lt $4 ]] || return 0
  PSL_STEP_ID[role]=$6
  [[ ${PSL_STATE[$task]-} ]] || PSL_BEGUN=$((PSL_BEGUN + 1))
  [[ ! ${PSL_BARRIER-} ]] || ((PSL_BEGUN != PSL_TASK_COUNT)) || lift_barrier
  PSL_STATE[$task]=running PSL_ATTEMPTS[$task]=$4 PSL_NODE_OF[$task]=$5 PSL_STARTED[$task]=$7 PSL_ENDED[$task]=''
  if [[ $PSL_OUTCOME ]]; then
    PSL_STARTED_AFTER_DECISION[role]=1
  fi
}

# exit ROLE SLOT INDEX ATTEMPT STATUS CODE BEHAVIOUR
#
# A death by TERM or KILL that was not ours, and any end after a TERM, waits two seconds: if the whole job is being ended
# from outside, that is the reason, and the script hears of it only now.
on_exit() {
  local index=$3 status=$5 task=$1.$3
  [[ ${PSL_STATE[$task]-} == running && ${PSL_ATTEMPTS[$task]} == "$4" ]] || return 0
  PSL_STATE[$task]=ended PSL_STATUS[$task]=$status PSL_CODE_OF[$task]=$6 PSL_BEHAVIOUR_OF[$task]=$7 PSL_ENDED[$task]=$PSL_NOW
  unset "PSL_ASSIGNED[$1.$2]"
  PSL_EXITS+=("$task")
  if [[ ${PSL_GOT_TERM[$task.$4]-} ]] || ((status == 143 || (status == 137 && $6 > 0))); then
    PSL_PROVISIONAL[$task]=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
  fi
}

# Accept exits in the order in which they came: one that waits keeps back those after it.
accept_exits() {
  local task
  while ((PSL_NEXT_EXIT < ${#PSL_EXITS[@]})); do
    task=${PSL_EXITS[PSL_NEXT_EXIT]}
    ((PSL_NOW >= ${PSL_PROVISIONAL[$task]-0})) || return 0
    unset "PSL_PROVISIONAL[$task]"
    PSL_NEXT_EXIT=$((PSL_NEXT_EXIT + 1))
    [[ $PSL_OUTCOME ]] || accept_exit "${task%.*}" "${task#*.}"
  done
}

# Retry the task, or count it as completed.
accept_exit() {
  local role=$1 index=$2 task=$1.$2
  if ((!PSL_GANG)) && wants_retry "$role" "$task"; then
    PSL_STATE[$task]=waiting
    PSL_WAITING[role]+=" $index:$((PSL_ENDED[$task] + PSL_RETRY_DELAY))"
    return
  fi
  PSL_COMPLETED=$((PSL_COMPLETED + 1))
  if [[ ${PSL_BEHAVIOUR_OF[$task]} == success ]]; then
    PSL_STATE[$task]=succeeded PSL_SUCCEEDED[role]=$((PSL_SUCCEEDED[role] + 1))
    ((PSL_SUCCEEDED[role] != PSL_MIN_SUCCEEDED[role])) || PSL_SUCCESS_AT[role]="${PSL_ENDED[$task]} $index"
    PSL_SUCCEEDED_OF_JOB=$((PSL_SUCCEEDED_OF_JOB + 1))
    ((PSL_SUCCEEDED_OF_JOB != ${PSL_MIN_SUCCEEDED_OF_JOB:-0})) || PSL_JOB_SUCCESS_AT="${PSL_ENDED[$task]} $role.$index"
  else
    PSL_STATE[$task]=failed PSL_FAILED[role]=$((PSL_FAILED[role] + 1))
    ((PSL_FAILED[role] != PSL_MIN_FAILED[role])) || PSL_FAILURE_AT[role]="${PSL_ENDED[$task]} $index"
  fi
}

is_open() { [[ ${PSL_STATE[$1]-} != @(succeeded|failed|ended) ]]; }

has_open_tasks() {
  local index
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    if is_open "$1.$index"; then
      return 0
    fi
  done
  return 1
}

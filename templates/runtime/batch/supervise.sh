# Supervision: one loop reads what the tasks of all roles report, retries tasks, and decides when the job is complete.
# While tasks run it reads one channel and touches no file that other nodes share, unless a task is lost.

supervise() {
  SUPERVISING=1
  while ((${#STEP_OPEN[@]})) || [[ ! $OUTCOME ]]; do
    # All lines that are there are taken in before anything is decided.
    if read_words "$EVENTS"; then
      read_clock
      take_in ${WORDS[@]+"${WORDS[@]}"}
      while read -r -t 0 <&"$EVENTS" && read_words "$EVENTS"; do take_in ${WORDS[@]+"${WORDS[@]}"}; done
    fi
    read_clock
    if [[ $LAUNCH_OF ]]; then
      settle_launch
    else
      settle_exits
      [[ $OUTCOME ]] || look_for_outcome
    fi
    if [[ ! $OUTCOME ]]; then
      start_due_retries
      give_up_waiting_steps
    elif ((NOW >= STOP_AT)); then
      kill_steps
    elif ((${#LATE_STARTS[@]})); then
      signal_steps TERM "${!LATE_STARTS[@]}"
      LATE_STARTS=()
    fi
  done
}

# A line of the channel, as words. Only our own programs can write there, and only these lines mean something.
take_in() {
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
    5:term) TERMED[$2.$4.$5]=1 ;;
    8:failed) FAILED_IN[$2.$4]="${*:5}" ;;
    9:exit) on_exit "${@:2:7}" ;;
    3:free) on_free "$2" "$3" ;;
    5:died) on_death "${@:2}" ;;
    3:lost) on_node_loss "$2" "$3" ;;
    3:unlaunched) on_launch_failure "$2" "$3" ;;
    3:step) on_step_end "$2" "$3" ;;
    2:signal) on_signal "$2" ;;
  esac
}

# start ROLE SLOT INDEX ATTEMPT NODE STEP TIME
on_start() {
  local role=$1 task=$1.$3
  [[ ! ${STATE[$task]-} || ${ATTEMPTS[$task]} -lt $4 ]] || return 0
  STEP_ID[role]=$6
  [[ ${STATE[$task]-} ]] || BEGUN=$((BEGUN + 1))
  [[ ! ${BARRIER-} ]] || ((BEGUN != TASK_COUNT)) || lift_barrier
  STATE[$task]=running ATTEMPTS[$task]=$4 NODE_OF[$task]=$5 STARTED[$task]=$7 ENDED[$task]=''
  [[ ! $OUTCOME ]] || LATE_STARTS[role]=1
}

# exit ROLE SLOT INDEX ATTEMPT STATUS CODE BEHAVIOUR
#
# A death by TERM or KILL that was not ours, and any end after a TERM, waits two seconds: if the whole job is being ended
# from outside, that is the reason, and the script hears of it only now.
on_exit() {
  local index=$3 status=$5 task=$1.$3
  [[ ${STATE[$task]-} == running && ${ATTEMPTS[$task]} == "$4" ]] || return 0
  STATE[$task]=ended STATUS[$task]=$status CODE_OF[$task]=$6 BEHAVIOUR_OF[$task]=$7 ENDED[$task]=$NOW
  unset "GIVEN[$1.$2]"
  EXITS+=("$task")
  if [[ ${TERMED[$task.$4]-} ]] || ((status == 143 || (status == 137 && $6 > 0))); then
    PROVISIONAL[$task]=$((NOW + PROVISIONAL_SECONDS))
  fi
}

# Accept exits in the order in which they came: one that waits keeps back those after it.
settle_exits() {
  local task
  while ((NEXT_EXIT < ${#EXITS[@]})); do
    task=${EXITS[NEXT_EXIT]}
    ((NOW >= ${PROVISIONAL[$task]-0})) || return 0
    unset "PROVISIONAL[$task]"
    NEXT_EXIT=$((NEXT_EXIT + 1))
    [[ $OUTCOME ]] || accept_exit "${task%.*}" "${task#*.}"
  done
}

# Retry the task, or count it as completed.
accept_exit() {
  local role=$1 index=$2 task=$1.$2
  if wants_retry "$role" "$task"; then
    STATE[$task]=waiting
    WAITING[role]+=" $index:$((ENDED[$task] + RETRY_DELAY))"
    return
  fi
  COMPLETED=$((COMPLETED + 1))
  if [[ ${BEHAVIOUR_OF[$task]} == success ]]; then
    STATE[$task]=succeeded SUCCEEDED[role]=$((SUCCEEDED[role] + 1))
    ((SUCCEEDED[role] != MIN_SUCCEEDED[role])) || SUCCESS_AT[role]="${ENDED[$task]} $index"
    SUCCEEDED_OF_JOB=$((SUCCEEDED_OF_JOB + 1))
    ((SUCCEEDED_OF_JOB != ${MIN_SUCCEEDED_OF_JOB:-0})) || JOB_SUCCESS_AT="${ENDED[$task]} $role.$index"
  else
    STATE[$task]=failed FAILED[role]=$((FAILED[role] + 1))
    ((FAILED[role] != MIN_FAILED[role])) || FAILURE_AT[role]="${ENDED[$task]} $index"
  fi
}

# Source: OpenPAI retry policy: for tasks only without gang allocation, and then the fancy one, whatever the role's limit.
# Transient failures are retried up to a ceiling of our own, permanent ones never; the others use up the role's budget. With
# a limit of -1 that has no end, with -2 it is the site's, and successes use it up too. What has no end of the role's own
# comes later each time.
wants_retry() {
  local role=$1 task=$2 used=${BUDGET_USED[$2]-0} transient=${TRANSIENTS[$2]-0}
  local limit=${TASK_RETRIES[role]}
  RETRY_DELAY=0
  ((!GANG)) && [[ ${STEP_OPEN[role]-} ]] || return 1
  case ${BEHAVIOUR_OF[$2]} in
    transient | conflict)
      ((transient < TRANSIENT_CEILING)) || { CEILING_HIT[$task]="$TRANSIENT_CEILING transient retries"; return 1; }
      TRANSIENTS[$task]=$((transient + 1))
      back_off "$transient"
      return 0
      ;;
    permanent) return 1 ;;
    success) ((limit == -2)) || return 1 ;;
  esac
  if ((limit == -2)); then
    ((used < RESTART_LIMIT)) || { CEILING_HIT[$task]="$RESTART_LIMIT retries"; return 1; }
  else
    ((limit == -1 || used < limit)) || return 1
  fi
  BUDGET_USED[$task]=$((used + 1))
  ((limit >= 0)) || back_off "$used"
}

# back_off BEFORE: in RETRY_DELAY, the seconds until a retry after so many before it.
back_off() { RETRY_DELAY=$(($1 == 0 ? 0 : $1 < 6 ? 1 << $1 : 60)); }

# A slot has nothing to do: give it a retry that is due, or the next task, or send the role home.
on_free() {
  local role=$1 slot=$2
  if [[ $OUTCOME ]]; then
    order "$role" quit
  elif take_waiting "$role"; then
    GIVEN[$role.$slot]=$TAKEN
    order "$role" "run $slot $TAKEN $((${ATTEMPTS[$role.$TAKEN]:--1} + 1))"
  elif ((NEXT_TASK[role] < INSTANCES[role])); then
    GIVEN[$role.$slot]=${NEXT_TASK[role]}
    order "$role" "run $slot ${NEXT_TASK[role]} 0"
    NEXT_TASK[role]=$((NEXT_TASK[role] + 1))
  elif ((SUCCEEDED[role] + FAILED[role] == INSTANCES[role])); then
    order "$role" quit
  else
    FREE_SLOTS[role]+=" $slot"
  fi
}

# Take a retry of the role that is due, into TAKEN.
take_waiting() {
  local role=$1 entry rest=''
  TAKEN=''
  for entry in ${WAITING[role]-}; do
    if [[ ! $TAKEN ]] && ((NOW >= ${entry#*:})); then TAKEN=${entry%:*}; else rest+=" $entry"; fi
  done
  WAITING[role]=$rest
  [[ $TAKEN ]]
}

start_due_retries() {
  local role slots slot
  for role in "${!FREE_SLOTS[@]}"; do
    slots=${FREE_SLOTS[role]}
    unset "FREE_SLOTS[$role]"
    for slot in $slots; do on_free "$role" "$slot"; done
  done
}

# Tell the slots of a role what to do; srun carries its standard input to all of them.
order() { printf '%s\n' "$2" >&"${ORDERS[$1]}"; }

is_open() { [[ ${STATE[$1]-} != @(succeeded|failed|ended) ]]; }

has_open_tasks() {
  local index
  for ((index = 0; index < INSTANCES[$1]; index++)); do
    ! is_open "$1.$index" || return 0
  done
  return 1
}

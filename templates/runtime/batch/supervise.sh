# Read the events of all tasks until the job is complete.

# supervise: read the events of all roles, retry tasks and decide, in one loop. While tasks run, the
# loop reads one channel and no file that nodes share, unless a task is lost.
supervise() {
  PSL_SUPERVISING=1
  while ((${#PSL_STEP_RUNNING[@]})) || [[ ! $PSL_OUTCOME ]]; do
    read_all_events
    read_clock
    see_own_loss  # only: spare
    if ((${#PSL_FAILED_LAUNCH[@]})); then
      settle_failed_launch
    else
      accept_exits
      if [[ ! $PSL_OUTCOME ]]; then
        check_completion
      fi
      check_stalls  # only: progress
    fi
    if [[ $PSL_OUTCOME ]]; then
      stop_late_steps
    else
      ((PSL_GANG)) || fill_free_slots  # only: slots
      fail_waiting_steps
    fi
  done
}

# read_all_events: wait for an event, one second at most. Read all waiting events before any
# decision. With many tasks, after some events in a row read the rest in blocks.
read_all_events() {
  local count=1
  read_words "$PSL_EVENT_FD" || return 0
  read_clock
  dispatch_event ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}
  while read -r -t 0 <&"$PSL_EVENT_FD"; do
    if [[ ${PSL_EVENTS_BEFORE_BLOCK-} ]] && ((count++ % PSL_EVENTS_BEFORE_BLOCK == 0)); then
      read_block_of_events
    elif read_words "$PSL_EVENT_FD"; then
      dispatch_event ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}
    fi
  done
}

# dispatch_lines LINE ...: act on events.
dispatch_lines() {
  local line
  for line; do
    split_words ' ' "$line"
    dispatch_event ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}
  done
}

# dispatch_event WORD ...: act on an event, which is a line of the channel. Events come from
#   the first task of a role: launched (the role's step)
#   the first task of a node: ports (of a task), prepared, unprepared (the node)
#   a task: start, term (it got TERM), exit, kills (of its processes), evidence (of its failure)
#   a task with hooks: failed (a hook)  # only: hooks
#   a task with a planned binding: mismatch  # only: binding
#   a slot: free  # only: slots
#   a task whose commands have left processes: background  # only: background
#   a task with a stall guard: quiet, moved; its node: stalled  # only: progress
#   watch_srun, by what srun says: died (shells of slots), lost (a node), unlaunched (on a node)
#   start_role: step (its end)
#   forward_signals_to: signal (to this script)
#   ask_about_stall: asked (one of its steps has ended)  # only: progress
dispatch_event() {
  is_event "$@" || return 0
  case $1 in
    launched) on_launched "$2" "$3" ;;
    ports) remember_ports "${@:2}" ;;
    prepared) on_prepared "$2" ;;
    unprepared) on_unprepared "${@:2}" ;;
    start) on_start "${@:2}" ;;
    term) PSL_GOT_TERM[$2.$4.$5]=1 ;;
    failed) PSL_FAILED_IN[$2.$4]="${*:5}" ;;  # only: hooks
    background) on_background "${@:2:4}" ;;  # only: background
    exit) on_exit "${@:2:7}" "${10-0}" ;;
    free) ((PSL_GANG)) || on_free "$2" "$3" ;;  # only: slots
    kills) PSL_MEMORY_KILLS_IN[$2.$3.$4]=$5 ;;
    evidence) on_evidence "${@:2}" ;;
    quiet) on_quiet "${@:2}" ;;  # only: progress
    moved) on_moved "${@:2}" ;;  # only: progress
    stalled) on_stalled "${@:2}" ;;  # only: progress
    behind) on_behind "$2" ;;  # only: progress
    asked) PSL_STALL_OPEN=$((PSL_STALL_OPEN - 1)) ;;  # only: progress
    mismatch) on_mismatch "${@:2}" ;;  # only: binding
    died) on_slots_died "${@:2}" ;;
    lost) on_node_loss "$2" "$3" ;;
    unlaunched) on_launch_failure "$2" "$3" ;;
    step) on_step_end "$2" "$3" ;;
    signal) on_signal "$2" ;;
  esac
}

# is_event WORD ...: succeed if the words are an event. Only numbers may reach arithmetic. In bash a
# pattern takes a fifth of the time of a regular expression.
is_event() {
  case $#:${1-} in
    *:ports) [[ "${*:2}" =~ ^[0-9]+\ [0-9]+(\ [A-Za-z0-9._~]+:\+?[0-9,]+)*$ ]] ;;
    2:prepared | *:unprepared | 2:signal) return 0 ;;
    8:start) are_numbers "$2" "$3" "$4" "$5" "$7" "$8" ;;
    9:exit | 10:exit)
      are_numbers "${@:2:5}" "${7#-}" "${@:9}" && [[ $8 != *[!a-z]* ]]
      ;;
    8:failed) is_failed_hook "${@:2}" ;;  # only: hooks
    *:evidence) are_numbers "${2-x}" "${3-x}" "${4-x}" ;;
    *:background) are_numbers "${2-x}" "${3-x}" "${4-x}" "${5-x}" ;;  # only: background
    *:mismatch) is_mismatch "$@" ;;  # only: binding
    5:quiet | 5:moved | 2:behind | 2:asked) are_numbers "${@:2}" ;;  # only: progress
    *:stalled) is_stall_event "$@" ;;  # only: progress
    3:lost | 3:unlaunched) are_numbers "$2" ;;
    5:kills | 3:launched | 5:term | 3:free | 5:died | 3:step) are_numbers "${@:2}" ;;
    *) return 1 ;;
  esac
}

# are_numbers WORD ...: succeed if each word is a number without a sign.
are_numbers() { [[ "$*" != *[!0-9\ ]* && "$*" != *'  '* ]]; }

# on_start ROLE SLOT INDEX ATTEMPT NODE STEP TIME: note that a task has started.
on_start() {
  local role=$1 task=$1.$3
  (($4 >= PSL_FIRST_RUN)) || return 0  # only: restarts
  # The attempt may have been reported before.
  if [[ ${PSL_STATE[$task]-} && ${PSL_ATTEMPTS[$task]} -ge $4 ]]; then
    return 0
  fi
  PSL_STEP_ID[role]=$6
  if [[ ! ${PSL_STATE[$task]-} ]]; then
    PSL_TASKS_BEGUN=$((PSL_TASKS_BEGUN + 1))
  fi
  [[ ${PSL_BARRIER-} ]] && lift_barrier  # only: plugin-ssh
  PSL_STATE[$task]=running PSL_ATTEMPTS[$task]=$4 PSL_NODE_OF[$task]=$5
  PSL_STARTED[$task]=$7 PSL_ENDED[$task]=''
  PSL_ENDED_AFTER[$task]='' PSL_EVIDENCE[$task]=''
  forget_quiet "$task"  # only: progress
  unset 'PSL_SETTLED[$task]'  # only: background
  if [[ $PSL_OUTCOME ]]; then
    PSL_TERM_DUE[role]=1
  fi
}

# on_exit ROLE SLOT INDEX ATTEMPT STATUS CODE BEHAVIOUR AGE: note that a task has ended. Its
# commands ended AGE milliseconds before the report.
#
# A task may end by a TERM or KILL that the script did not send, or after a TERM, because Slurm is
# ending the whole job. The script gets its own signal late, so such an exit is provisional.
on_exit() {
  local status=$5 task=$1.$3
  [[ ${PSL_STATE[$task]-} == running && ${PSL_ATTEMPTS[$task]} == "$4" ]] || return 0
  PSL_STATE[$task]=ended
  note_end "$task" "$8"
  forget_quiet "$task"  # only: progress
  PSL_STATUS[$task]=$status PSL_CODE_OF[$task]=$6 PSL_BEHAVIOUR_OF[$task]=$7
  unset 'PSL_ASSIGNED[$1.$2]'  # only: slots
  PSL_EXITS+=("$task")
  if [[ ${PSL_GOT_TERM[$task.$4]-} ]] || ((status == 143 || (status == 137 && $6 > 0))); then
    PSL_PROVISIONAL_UNTIL[$task]=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
  fi
  keep_settled "$task"  # only: background
}

# note_end TASK AGE: note that a task ended AGE milliseconds ago. The clocks of nodes differ, so
# only that of the batch node orders the ends.
note_end() {
  read_uptime
  PSL_ENDED[$1]=$PSL_NOW PSL_ENDED_AFTER[$1]=$((PSL_UPTIME - $2 - PSL_BEGAN_UPTIME))
}

# on_evidence ROLE INDEX ATTEMPT WORD ...: note what a node knows about a failed task.
on_evidence() {
  if [[ ${PSL_ATTEMPTS[$1.$2]-} == "$3" ]]; then
    escape_json "${*:4}"
    PSL_EVIDENCE[$1.$2]+=${PSL_EVIDENCE[$1.$2]:+, }\"$PSL_ESCAPED\"
  fi
}

# accept_exits: accept exits in the order in which they came: a provisional exit delays those after
# it.
accept_exits() {
  local task
  while ((PSL_NEXT_EXIT < ${#PSL_EXITS[@]})); do
    task=${PSL_EXITS[PSL_NEXT_EXIT]}
    ((PSL_NOW >= ${PSL_PROVISIONAL_UNTIL[$task]-0})) || return 0
    unset 'PSL_PROVISIONAL_UNTIL[$task]'
    PSL_NEXT_EXIT=$((PSL_NEXT_EXIT + 1))
    if [[ ! $PSL_OUTCOME ]]; then
      accept_exit "${task%.*}" "${task#*.}"
    fi
  done
}

# accept_exit ROLE INDEX: retry the task, or count its exit and note the threshold that it reaches.
accept_exit() {
  local role=$1 task=$1.$2
  retry_task "$role" "$2" && return  # only: slots
  PSL_TASKS_COMPLETED=$((PSL_TASKS_COMPLETED + 1))
  if [[ ${PSL_BEHAVIOUR_OF[$task]} == success ]]; then
    PSL_STATE[$task]=succeeded PSL_SUCCEEDED[role]=$((PSL_SUCCEEDED[role] + 1))
    note_success "$role" "$task"  # only: min-succeeded
    return
  fi
  PSL_STATE[$task]=failed PSL_FAILED[role]=$((PSL_FAILED[role] + 1))
  if ((PSL_FAILED[role] == PSL_MIN_FAILED[role])); then
    PSL_REACHED[2 * role]="${PSL_ENDED[$task]} C2 $task"
  fi
}

# is_open TASK: succeed if the task has not ended, or waits for a retry.
is_open() { [[ ${PSL_STATE[$1]-} != @(succeeded|failed|ended) ]]; }

# has_open_tasks ROLE: succeed if a task of the role is open.
has_open_tasks() {
  local index
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    if is_open "$1.$index"; then
      return 0
    fi
  done
  return 1
}

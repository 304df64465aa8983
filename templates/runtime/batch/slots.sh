# Give tasks and retries to slots, without gang allocation.

# The most bytes of the variables about all tasks.
readonly PSL_MAX_PEER_BYTES=98304

# A role may have fewer slots than tasks. A free slot reports so, and gets the next task.

# By role: the next task that never had a slot, "INDEX:TIME" of the waiting retries, and idle slots.
# By ROLE.SLOT, the task of a slot, until the task has ended.
PSL_NEXT_TASK=() PSL_WAITING=() PSL_FREE_SLOTS=()
declare -A PSL_ASSIGNED=()
# By task, the number of used transient and other retries, and the reached limit.
declare -A PSL_TRANSIENTS=() PSL_BUDGET_USED=() PSL_LIMIT_REACHED=()

# print_peer_settings: print whether tasks inherit the variables about the tasks that have started.
print_peer_settings() {
  if exports_peers "$PSL_MAX_PEER_BYTES"; then
    printf 'PSL_EXPORTS_PEERS=1\nexport %s\n' "$PSL_INSTANCES_LINE"
  else
    printf '%s\n' "$PSL_INSTANCES_LINE"
    print_unexported_peers
  fi
}

# grant_retry ROLE TASK: count a retry of the task and set PSL_RETRY_DELAY; fail if the task gets
# none.
# Source: OpenPAI retry policy: tasks are retried only without gang allocation, by the fancy policy.
# Permanent failures are never retried, transient ones up to the site's limit. All others count
# against the role's limit.
grant_retry() {
  PSL_RETRY_DELAY=0
  [[ ${PSL_STEP_RUNNING[$1]-} ]] || return 1
  case ${PSL_BEHAVIOUR_OF[$2]} in
    transient | conflict) grant_transient_retry "$2" ;;
    permanent) return 1 ;;
    success)
      ((PSL_TASK_RETRIES[$1] == -2)) || return 1
      grant_limited_retry "$1" "$2"
      ;;
    *) grant_limited_retry "$1" "$2" ;;
  esac
}

# grant_transient_retry TASK: succeed if the limit for transient failures allows another retry.
grant_transient_retry() {
  local task=$1 used=${PSL_TRANSIENTS[$1]-0}
  if ((used >= PSL_MAX_TRANSIENT_RETRIES)); then
    PSL_LIMIT_REACHED[$task]="$PSL_MAX_TRANSIENT_RETRIES transient "
    return 1
  fi
  PSL_TRANSIENTS[$task]=$((used + 1))
  back_off "$used"
}

# grant_limited_retry ROLE TASK: succeed if the role's limit allows another retry. -1 means no
# limit; -2 means the site's limit, against which successes count, too. With either, later retries
# wait longer, because the role sets no limit.
grant_limited_retry() {
  local limit=${PSL_TASK_RETRIES[$1]} task=$2 used=${PSL_BUDGET_USED[$2]-0}
  if ((limit == -2 && used >= PSL_MAX_RESTARTS)); then
    PSL_LIMIT_REACHED[$task]="$PSL_MAX_RESTARTS "
    return 1
  fi
  if ((limit >= 0 && used >= limit)); then
    return 1
  fi
  PSL_BUDGET_USED[$task]=$((used + 1))
  if ((limit < 0)); then
    back_off "$used"
  fi
}

# back_off COUNT: set PSL_RETRY_DELAY, the seconds to wait before a retry that follows COUNT others.
back_off() { PSL_RETRY_DELAY=$(($1 == 0 ? 0 : $1 < 6 ? 1 << $1 : 60)); }

# on_free ROLE SLOT: give a free slot the next task at once if no retry waits, else leave it to
# fill_free_slots.
on_free() {
  local role=$1
  if [[ $PSL_OUTCOME ]]; then
    send_command "$role" quit
  elif [[ ! ${PSL_WAITING[role]-} ]] && ((${PSL_NEXT_TASK[role]-0} < PSL_INSTANCES[role])); then
    assign_next_task "$role" "$2"
  else
    PSL_FREE_SLOTS[role]+=" $2"
  fi
}

# fill_free_slots: assign tasks to the free slots of all roles. End the step of a role whose tasks
# are all completed.
fill_free_slots() {
  local role
  for role in "${!PSL_FREE_SLOTS[@]}"; do
    if ((PSL_SUCCEEDED[role] + PSL_FAILED[role] == PSL_INSTANCES[role])); then
      unset 'PSL_FREE_SLOTS[$role]'
      send_command "$role" quit
    elif [[ ${PSL_WAITING[role]-} ]] || ((${PSL_NEXT_TASK[role]-0} < PSL_INSTANCES[role])); then
      fill_slots_of_role "$role"
    fi
  done
}

# fill_slots_of_role ROLE: assign due retries to the role's free slots, then the next tasks.
fill_slots_of_role() {
  local role=$1 entry waiting='' next=0
  local -a slots
  split_words ' ' "${PSL_FREE_SLOTS[role]}"
  slots=(${PSL_WORDS[@]+"${PSL_WORDS[@]}"})
  for entry in ${PSL_WAITING[role]-}; do
    if ((next < ${#slots[@]} && PSL_NOW >= ${entry#*:})); then
      assign_task "$role" "${slots[next++]}" "${entry%:*}"
    else
      waiting+=" $entry"
    fi
  done
  PSL_WAITING[role]=$waiting
  while ((next < ${#slots[@]} && ${PSL_NEXT_TASK[role]-0} < PSL_INSTANCES[role])); do
    assign_next_task "$role" "${slots[next++]}"
  done
  if ((next < ${#slots[@]})); then
    PSL_FREE_SLOTS[role]=" ${slots[*]:next}"
  else
    unset 'PSL_FREE_SLOTS[$role]'
  fi
}

# assign_next_task ROLE SLOT: start in the slot the next task that never had a slot.
assign_next_task() {
  local next=${PSL_NEXT_TASK[$1]-0}
  PSL_NEXT_TASK[$1]=$((next + 1))
  assign_task "$1" "$2" "$next"
}

# assign_task ROLE SLOT INDEX: start the next attempt of a task in the slot.
assign_task() {
  PSL_ASSIGNED[$1.$2]=$3
  send_command "$1" "run $2 $3 $((${PSL_ATTEMPTS[$1.$3]:-PSL_FIRST_RUN - 1} + 1))"  # only: restarts
  send_command "$1" "run $2 $3 $((${PSL_ATTEMPTS[$1.$3]:--1} + 1))"  # unless: spare
}

# put_back ROLE INDEX TIME: queue a task for a slot, until TIME at least.
put_back() { PSL_WAITING[$1]+=" $2:$3"; }

# give_to_other_slot ROLE INDEX: let a task that has not begun wait for another slot.
give_to_other_slot() {
  ((!PSL_GANG)) && put_back "$1" "$2" "$((PSL_NOW + 1))"
}

# has_waiting_tasks ROLE: succeed if tasks of a role that have not begun may wait for a slot: its
# step has started.
has_waiting_tasks() { ((!PSL_GANG)) && [[ ${PSL_STEP_ID[$1]-} ]]; }

# take_from_slot ROLE SLOT: set the caller's `index` to the slot's task, if any, and retire the
# slot.
take_from_slot() {
  ((PSL_GANG)) && return
  index=${PSL_ASSIGNED[$1.$2]-}
  unset 'PSL_ASSIGNED[$1.$2]'
  PSL_FREE_SLOTS[$1]=" ${PSL_FREE_SLOTS[$1]-} "
  PSL_FREE_SLOTS[$1]=${PSL_FREE_SLOTS[$1]/ $2 / }
}

# retry_task ROLE INDEX: let a task whose exit is accepted wait for its retry, if it gets one.
retry_task() {
  ((!PSL_GANG)) && grant_retry "$1" "$1.$2" || return
  PSL_STATE[$1.$2]=waiting
  put_back "$1" "$2" "$((${PSL_ENDED[$1.$2]:-0} + PSL_RETRY_DELAY))"
}

# explain_limit TASK: add to PSL_EXPLANATION the limit that prevents another retry of the task.
explain_limit() {
  local most=${PSL_LIMIT_REACHED[$1]-}
  case ${most%% *} in
    '') ;;
    0) PSL_EXPLANATION+=' and is not retried, because the site allows no retries' ;;
    1) PSL_EXPLANATION+=" after ${most}retry, the most that the site allows" ;;
    *) PSL_EXPLANATION+=" after ${most}retries, the most that the site allows" ;;
  esac
}

# Conclude that no task of a group moves, and name the one that the others wait for.
#
# A silent task is normal: often only one logs. So tasks report when they become quiet and when they
# move again, and only a group in which all running tasks are quiet is stalled. Then a step on each
# node tells what its tasks wait for.

# By ROLE.INDEX: quiet tasks, and what their nodes have found: rank, processes, sign, and words.
declare -A PSL_QUIET=()
declare -A PSL_STALL_RANK=() PSL_STALL_PROCESSES=() PSL_STALL_SIGN=() PSL_STALL_WORDS=()
# By group: when a task last started or ended; the groups that have been found stalled.
PSL_GROUP_CHANGED_AT=() PSL_STALLED=()
# When to look at the groups; the group whose nodes are asked, until when, and the running steps.
PSL_STALL_CHECK_AT='' PSL_STALL_GROUP='' PSL_STALL_DEADLINE=0 PSL_STALL_OPEN=0
# By group: since when it stalls. The stalls that have ended, for result.json.
PSL_STALLED_SINCE=() PSL_PAST_STALLS=''
# The stall in stall.json that has not ended: its group, its time, and its tasks and reason as JSON.
PSL_STALL_SHOWN='' PSL_STALL_FOUND_AT=0 PSL_STALL_TEXT=''
# The seconds in which few nodes answer, and the exit code of a stall.
readonly PSL_STALL_SECONDS=8 PSL_STALL_CODE=-1407

# read_guard ROLE: set the caller's `within`, `action` and `group` to the stall guard of a role.
read_guard() { read -r within _ action group <<<"${PSL_PROGRESS[$1]-}"; }

# on_quiet ROLE SLOT INDEX ATTEMPT: note that a task does not move.
on_quiet() {
  if [[ ${PSL_STATE[$1.$3]-} == running && ${PSL_ATTEMPTS[$1.$3]} == "$4" ]]; then
    PSL_QUIET[$1.$3]=1 PSL_STALL_CHECK_AT=$PSL_NOW
  fi
}

# on_moved ROLE SLOT INDEX ATTEMPT: note that a task moves again.
on_moved() {
  local within action group
  unset 'PSL_QUIET[$1.$3]'
  read_guard "$1"
  if [[ ${PSL_STALLED[group]-} && ${PSL_OUTCOME:-restarting} == restarting ]]; then
    log "task ${PSL_ROLE_NAME[$1]}-$3 moves again"
    end_stall "$group"
  fi
}

# end_stall GROUP: note that the stall of a group has ended. A job that ends does so with its stall:
# its tasks only act on their TERM.
end_stall() {
  PSL_STALLED[$1]=''
  add_stall "$1" "$PSL_NOW" "$PSL_PAST_STALLS"
  PSL_PAST_STALLS=$PSL_STALLS PSL_STALLED_SINCE[$1]=''
  if [[ $PSL_STALL_GROUP == "$1" ]]; then
    PSL_STALL_GROUP=''
  fi
  if [[ $PSL_STALL_SHOWN == "$1" ]]; then
    write_stall "$PSL_NOW"
    PSL_STALL_SHOWN=''
  fi
}

# add_stall GROUP TIME STALLS: set PSL_STALLS to the stalls, and that of the group until this time
# if it has been found.
add_stall() {
  PSL_STALLS=$3
  if [[ ${PSL_STALLED_SINCE[$1]-} ]]; then
    PSL_STALLS+="${3:+, }{\"from\": ${PSL_STALLED_SINCE[$1]}, \"to\": $2}"
  fi
}

# print_stalls: print all stalls for result.json; those that have not ended last until now.
print_stalls() {
  local group
  PSL_STALLS=$PSL_PAST_STALLS
  for group in "${!PSL_STALLED_SINCE[@]}"; do
    add_stall "$group" "$PSL_NOW" "$PSL_STALLS"
  done
  printf ' "stalls": [%s],\n' "$PSL_STALLS"
}

# forget_quiet TASK: note that a task has started or ended, after which others may move again.
forget_quiet() {
  local within action group
  unset 'PSL_QUIET[$1]'
  read_guard "${1%.*}"
  [[ $group ]] || return 0
  PSL_GROUP_CHANGED_AT[group]=$PSL_NOW PSL_STALL_CHECK_AT=$PSL_NOW
  if [[ ${PSL_STALLED[group]-} && ${PSL_OUTCOME:-restarting} == restarting ]]; then
    end_stall "$group"
  fi
}

# check_stalls: ask the nodes about a group whose tasks are all quiet, and decide when they have
# answered.
check_stalls() {
  local role within action group
  if [[ $PSL_STALL_GROUP ]]; then
    if ((PSL_STALL_OPEN <= 0 || PSL_NOW >= PSL_STALL_DEADLINE)); then
      conclude_stall "$PSL_STALL_GROUP"
    fi
    return
  fi
  [[ $PSL_STALL_CHECK_AT ]] && ((PSL_NOW >= PSL_STALL_CHECK_AT)) || return 0
  PSL_STALL_CHECK_AT=''
  for role in "${!PSL_PROGRESS[@]}"; do
    read_guard "$role"
    if [[ ! $PSL_STALL_GROUP && $group == "$role" && ! ${PSL_STALLED[group]-} ]] &&
      is_quiet "$group" "$within"; then
      PSL_STALLED[group]=1
      ask_about_stall "$group"
    fi
  done
}

# is_quiet GROUP SECONDS: succeed if tasks of the group run, and all are quiet. Tasks may have
# waited for one that has just ended.
is_quiet() {
  local role index count=0 within action group due=$((${PSL_GROUP_CHANGED_AT[$1]-0} + $2))
  for role in "${!PSL_PROGRESS[@]}"; do
    read_guard "$role"
    [[ $group == "$1" ]] || continue
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      if [[ ${PSL_STATE[$role.$index]-} == running ]]; then
        [[ ${PSL_QUIET[$role.$index]-} ]] || return 1
        count=$((count + 1))
      fi
    done
  done
  ((count)) || return 1
  ((PSL_NOW < due)) || return 0
  if [[ ! $PSL_STALL_CHECK_AT ]] || ((due < PSL_STALL_CHECK_AT)); then
    PSL_STALL_CHECK_AT=$due
  fi
  return 1
}

# ask_about_stall GROUP: start the steps that tell what the tasks wait for.
ask_about_stall() {
  local component seconds=$((PSL_STALL_SECONDS + ${#PSL_ADDRESS_OF[@]} / 20))
  PSL_STALL_GROUP=$1 PSL_STALL_DEADLINE=$((PSL_NOW + seconds)) PSL_STALL_OPEN=0
  PSL_STALL_RANK=() PSL_STALL_PROCESSES=() PSL_STALL_SIGN=() PSL_STALL_WORDS=()
  [[ -d stall ]] || mkdir -- stall
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    {
      PSL_STEP_LIMIT=$seconds run_on_nodes stall "$component"
      send 1 asked "$component"
    } >&"$PSL_EVENT_FD" &
    disown "$!" 2>/dev/null
    PSL_STALL_OPEN=$((PSL_STALL_OPEN + 1))
  done
}

# is_stall_event WORD ...: succeed if the words are what a node tells about a task.
is_stall_event() {
  are_numbers "${2-x}" "${3-x}" "${4-x}" "${5-x}" && [[ "${6-x}" != *[!0-9,]* && ${7-} ]] &&
    [[ $7 != *[!A-Za-z0-9._:@+/*,-]* ]]
}

# on_stalled ROLE INDEX ATTEMPT RANK PROCESSES SIGN WORD ...: note what a node has found.
on_stalled() {
  PSL_STALL_RANK[$1.$2]=$4 PSL_STALL_PROCESSES[$1.$2]=$5 PSL_STALL_SIGN[$1.$2]=$6
  PSL_STALL_WORDS[$1.$2]=${*:7}
}

# on_behind PROCESS: note that NCCL misses operations of this process. Its number must be that of
# one task only: each node counts its processes by itself.
on_behind() {
  local task match=''
  for task in "${!PSL_STALL_PROCESSES[@]}"; do
    if [[ ,${PSL_STALL_PROCESSES[$task]}, == *",$1,"* ]]; then
      match=${match:+x }$task
    fi
  done
  if [[ $match && $match != *' '* ]] && ((${PSL_STALL_RANK[$match]-0} < 25)); then
    PSL_STALL_RANK[$match]=25
    PSL_STALL_WORDS[$match]="has launched fewer operations of NCCL than the others (process $1)"
  fi
}

# find_odd_task ROLE: note the one running task of a role of which no process waits where processes
# of the same name wait in all others.
find_odd_task() {
  local index task part odd='' place=''
  local -a tasks=()
  local -A has=() waiting=()
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    task=$1.$index
    [[ ${PSL_STATE[$task]-} == running && ${PSL_STALL_SIGN[$task]-,} != , ]] || continue
    tasks+=("$task")
    for part in ${PSL_STALL_SIGN[$task]//,/ }; do
      has[$task $part]=1 waiting[$part]=$((${waiting[$part]-0} + 1))
    done
  done
  ((${#tasks[@]} > 2)) || return 0
  for part in "${!waiting[@]}"; do
    ((${waiting[$part]} == ${#tasks[@]} - 1)) || continue
    for task in "${tasks[@]}"; do
      if [[ ${has[$task $part]-} || ,${PSL_STALL_SIGN[$task]} != *",${part%%:*}:"* ]]; then
        continue
      fi
      # A rank that runs, but whose stack could not be read, may be in the same function.
      if [[ $part == *@libmpi* && ${PSL_STALL_SIGN[$task]} == *:running+libmpi* &&
        ${PSL_STALL_SIGN[$task]} != *@libmpi* ]]; then
        continue
      fi
      # If two tasks miss something, none stands out.
      [[ ${odd:-$task} == "$task" ]] || return 0
      odd=$task
      # A function of Python says more than one of the kernel.
      if [[ ! $place || $part == *@* ]]; then
        place=$part
      fi
    done
  done
  if [[ $odd ]] && ((${PSL_STALL_RANK[$odd]-0} <= 10)); then
    describe_wait "$odd" "$place"
    PSL_STALL_RANK[$odd]=10 PSL_STALL_WORDS[$odd]=$PSL_DESCRIBED
  fi
}

# describe_wait TASK PLACE: set PSL_DESCRIBED to where processes of the task wait, while those of
# that name wait in PLACE in all other tasks.
describe_wait() {
  local part here='' functions=''
  for part in ${PSL_STALL_SIGN[$1]//,/ }; do
    if [[ ${part%%:*} == "${2%%:*}" && $part != *'*'* ]]; then
      name_place "${part#*:}"
      here+=", $PSL_PLACE"
      [[ $part != *@* || $2 != *@* ]] || functions+=", $PSL_PLACE"
    fi
  done
  part=${2#*:} here=${functions:-$here}
  name_place "${part%'*'*}"
  PSL_DESCRIBED="is in ${here:2}, and the others in $PSL_PLACE"
}

# describe_common_waits: set PSL_DESCRIBED to the functions of frameworks, and the libraries that
# may wait, in which each of the caller's running tasks has a process, '' for none.
describe_common_waits() {
  local part task sign=${PSL_STALL_SIGN[${running[0]}]-}
  PSL_DESCRIBED=''
  for part in ${sign//,/ }; do
    [[ $part == *:*@* || ($part == *:running+* && ! $PSL_DESCRIBED) ]] || continue
    [[ $part != *'*'* ]] || continue
    for task in "${running[@]}"; do
      [[ ,${PSL_STALL_SIGN[$task]-}, == *",$part,"* ]] || continue 2
    done
    PSL_DESCRIBED+=", ${part#*:}"
  done
  PSL_DESCRIBED=${PSL_DESCRIBED:+; each has processes in ${PSL_DESCRIBED:2}}
}

# conclude_stall GROUP: log what is known, write stall.json, and end the job if the guard says so.
conclude_stall() {
  local role index task within action group best=0 reason roles=0
  local -a named=() running=()
  # Another group may have waited.
  PSL_STALL_GROUP='' PSL_STALL_CHECK_AT=$PSL_NOW
  for role in "${!PSL_PROGRESS[@]}"; do
    read_guard "$role"
    [[ $group == "$1" ]] || continue
    roles=$((roles + 1))
    note_silent_nodes "$role"
    find_odd_task "$role"
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      task=$role.$index
      [[ ${PSL_STATE[$task]-} == running ]] || continue
      running+=("$task")
      if ((${PSL_STALL_RANK[$task]-0} > best)); then
        best=${PSL_STALL_RANK[$task]} named=()
      fi
      if ((best && ${PSL_STALL_RANK[$task]-0} == best)); then
        named+=("$task")
      fi
    done
  done
  ((${#running[@]})) || return 0
  read_guard "$1"
  describe_stall "$1"
  reason=${reason//running+/code that computes or waits in }
  log "stalled: $reason"
  PSL_STALLED_SINCE[$1]=$((PSL_NOW - within))
  PSL_STALL_SHOWN=$1
  keep_stall ${named[@]+"${named[@]}"}
  write_stall null
  if [[ $action == end ]]; then
    decide failed "$PSL_STALL_CODE" transient "$reason"
  fi
}

# note_silent_nodes ROLE: note the tasks whose node did not answer, if most did. Else the steps may
# have started late.
note_silent_nodes() {
  local index
  ((2 * ${#PSL_STALL_RANK[@]} > PSL_TASK_COUNT - PSL_TASKS_COMPLETED)) || return 0
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do
    if [[ ${PSL_STATE[$1.$index]-} == running && ! ${PSL_STALL_RANK[$1.$index]-} ]]; then
      PSL_STALL_RANK[$1.$index]=45
      PSL_STALL_WORDS[$1.$index]="is on ${PSL_NODE_OF[$1.$index]}, which does not answer"
    fi
  done
}

# describe_stall GROUP: set the caller's `reason` to the stall, and to its cause if there is
# evidence for one.
describe_stall() {
  local others task shown='' time="$within s"
  if ((within % 60 == 0)); then
    time="$((within / 60)) min"
  fi
  reason="no task"
  if ((roles == 1 && ${#PSL_ROLE_NAME[@]} > 1)); then
    reason+=" of role ${PSL_ROLE_NAME[$1]}"
  fi
  reason+=" has moved for $time: "
  if ((!${#named[@]})); then
    describe_common_waits
    if ((${#running[@]} == 1)); then
      reason+="only ${PSL_ROLE_NAME[${running[0]%.*}]}-${running[0]#*.} runs$PSL_DESCRIBED"
    else
      reason+="nothing tells which of the ${#running[@]} tasks the others wait for$PSL_DESCRIBED"
    fi
    return
  fi
  for task in "${named[@]:0:3}"; do
    shown+=", ${PSL_ROLE_NAME[${task%.*}]}-${task#*.} ${PSL_STALL_WORDS[$task]}"
  done
  reason+=${shown:2}
  others=$((${#named[@]} - 3))
  ((others <= 0)) || reason+="; as do $others more"
  others=$((${#running[@]} - ${#named[@]}))
  case $others in
    0) ;;
    1) reason+='; 1 other waits' ;;
    *) reason+="; $others others wait" ;;
  esac
}

# keep_stall TASK ...: keep the last stall: the named tasks, and the caller's `reason`.
keep_stall() {
  local task shown=''
  for task; do
    escape_json "${PSL_ROLE_NAME[${task%.*}]}-${task#*.}"
    shown+=", \"$PSL_ESCAPED\""
  done
  escape_json "$reason"
  PSL_STALL_FOUND_AT=$PSL_NOW PSL_STALL_TEXT="\"tasks\": [${shown:2}], \"reason\": \"$PSL_ESCAPED\""
}

# write_stall TIME: write the last stall to stall.json, with the time when a task moved again, null
# for none.
write_stall() {
  printf '{"version": 1, "found_at": %s, "moved_at": %s, %s}\n' \
    "$PSL_STALL_FOUND_AT" "$1" "$PSL_STALL_TEXT" >stall.json.new && mv -- stall.json.new stall.json
}

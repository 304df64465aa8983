# Give tasks to slots, without gang allocation: a role may have fewer slots than tasks, and tasks are retried.

# Source: OpenPAI retry policy: for tasks only without gang allocation, and then the fancy one, whatever the role's limit.
# Transient failures are retried up to a ceiling of our own, permanent ones never; the others use up the role's budget. With
# a limit of -1 that has no end, with -2 it is the site's, and successes use it up too. What has no end of the role's own
# comes later each time.
wants_retry() {
  local role=$1 task=$2 used=${PSL_BUDGET_USED[$2]-0} transient=${PSL_TRANSIENTS[$2]-0}
  local limit=${PSL_TASK_RETRIES[role]}
  PSL_RETRY_DELAY=0
  [[ ${PSL_STEP_RUNNING[role]-} ]] || return 1
  case ${PSL_BEHAVIOUR_OF[$2]} in
    transient | conflict)
      ((transient < PSL_MAX_TRANSIENT_RETRIES)) || { PSL_LIMIT_REACHED[$task]="$PSL_MAX_TRANSIENT_RETRIES transient retries"; return 1; }
      PSL_TRANSIENTS[$task]=$((transient + 1))
      back_off "$transient"
      return 0
      ;;
    permanent) return 1 ;;
    success) ((limit == -2)) || return 1 ;;
  esac
  if ((limit == -2)); then
    ((used < PSL_MAX_RESTARTS)) || { PSL_LIMIT_REACHED[$task]="$PSL_MAX_RESTARTS retries"; return 1; }
  else
    ((limit == -1 || used < limit)) || return 1
  fi
  PSL_BUDGET_USED[$task]=$((used + 1))
  ((limit >= 0)) || back_off "$used"
}

# back_off PSL_HOOKS_BEFORE: in PSL_RETRY_DELAY, the seconds until a retry after so many before it.
back_off() { PSL_RETRY_DELAY=$(($1 == 0 ? 0 : $1 < 6 ? 1 << $1 : 60)); }

# A slot has nothing to do: give it a retry that is due, or the next task, or send the role home.
on_free() {
  local role=$1 slot=$2
  if [[ $PSL_OUTCOME ]]; then
    send_command "$role" quit
  elif take_due_retry "$role"; then
    PSL_ASSIGNED[$role.$slot]=$PSL_TAKEN
    send_command "$role" "run $slot $PSL_TAKEN $((${PSL_ATTEMPTS[$role.$PSL_TAKEN]:--1} + 1))"
  elif ((PSL_NEXT_TASK[role] < PSL_INSTANCES[role])); then
    PSL_ASSIGNED[$role.$slot]=${PSL_NEXT_TASK[role]}
    send_command "$role" "run $slot ${PSL_NEXT_TASK[role]} 0"
    PSL_NEXT_TASK[role]=$((PSL_NEXT_TASK[role] + 1))
  elif ((PSL_SUCCEEDED[role] + PSL_FAILED[role] == PSL_INSTANCES[role])); then
    send_command "$role" quit
  else
    PSL_FREE_SLOTS[role]+=" $slot"
  fi
}

# Take a retry of the role that is due, into TAKEN.
take_due_retry() {
  local role=$1 entry rest=''
  PSL_TAKEN=''
  for entry in ${PSL_WAITING[role]-}; do
    if [[ ! $PSL_TAKEN ]] && ((PSL_NOW >= ${entry#*:})); then PSL_TAKEN=${entry%:*}; else rest+=" $entry"; fi
  done
  PSL_WAITING[role]=$rest
  [[ $PSL_TAKEN ]]
}

start_due_retries() {
  local role slots slot
  for role in "${!PSL_FREE_SLOTS[@]}"; do
    slots=${PSL_FREE_SLOTS[role]}
    unset "PSL_FREE_SLOTS[$role]"
    for slot in $slots; do on_free "$role" "$slot"; done
  done
}

# Tell the slots of a role what to do; srun carries its standard input to all of them.
send_command() { printf '%s\n' "$2" >&"${PSL_COMMAND_FDS[$1]}"; }

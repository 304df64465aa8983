# Run the hooks of a task, the scripts around its commands.
#
# Hooks come from prerequisites and plugins. PSL_HOOKS_BEFORE and PSL_HOOKS_AFTER of a role list
# them in order, each as a word MOMENT.NUMBER.KIND.NAME.POLICY. The function
# MOMENT_NUMBER_of_role_ROLE prints the text of the hook, and KIND is prerequisite or plugin.
# Source: OpenPAI runtime; issue 5145 for exports and containerExit, and for actions after a failure
# (alerts, uploads of logs), the moment `failure`.

# The logs of hooks, and "MOMENT KIND NAME" of the hook that failed the task.
PSL_RUNTIME_LOG='' PSL_SCRIPTS_LOG='' PSL_FAILED_SCRIPT=''

# has_hooks: succeed if the task has hooks, or is held after a failure.
has_hooks() {
  [[ ${PSL_HOOKS_BEFORE[PSL_ROLE]-}${PSL_HOOKS_AFTER[PSL_ROLE]-}$PSL_DEBUG_HOLD_SECONDS ]]
}

# run_hooks_and_commands INDEX ATTEMPT: run the start hooks, the commands, and the hooks after them.
# The task fails if a start hook or a success hook fails.
run_hooks_and_commands() {
  local attempt=$2 status=0 word began
  PSL_FAILED_SCRIPT='' PSL_RUNTIME_LOG=${PSL_END_LOG%.end*}.runtime${PSL_END_LOG##*.end}
  PSL_SCRIPTS_LOG=$PSL_ATTEMPT_FOLDER/tasks/${PSL_ROLE_FOLDER[PSL_ROLE]}/$1.scripts
  for word in ${PSL_HOOKS_BEFORE[PSL_ROLE]-}; do
    if ((status || PSL_STOPPED)); then
      break
    fi
    run_hook "$attempt" "$word" || status=$?
  done
  if ((PSL_STOPPED)); then
    status=143
  elif ((status == 0)); then
    read_clock
    began=$PSL_NOW
    run_commands "$1" "$attempt" || status=$?
    record_script "$attempt" commands "$status" "$began" -
  fi
  run_hooks_after "$1" "$attempt" "$status" || status=$?
  return "$status"
}

# run_hooks_after INDEX ATTEMPT STATUS: run the hooks after the commands, and return the task's
# status. An exit hook does not change the status. In a stopped task an exit hook may run until
# KILL: PSL_ENDING prevents this shell from forwarding a second TERM, from Slurm or the batch
# script.
run_hooks_after() {
  local attempt=$2 status=$3 word
  ((status == 0)) || after_failure "$1" "$attempt" "$status"
  for word in ${PSL_HOOKS_AFTER[PSL_ROLE]-}; do
    case $word in
      success.*)
        if ((status == 0 && !PSL_STOPPED)); then
          run_hook "$attempt" "$word" || status=$?
          ((status == 0)) || after_failure "$1" "$attempt" "$status"
        fi
        ;;
      exit.*)
        PSL_ENDING=1
        PAISLURM_EXIT_STATUS=$status run_hook "$attempt" "$word"
        PSL_ENDING=''
        ;;
    esac
  done
  return "$status"
}

# after_failure INDEX ATTEMPT STATUS: report the hook that failed the task, if any, run the failure
# hooks, and hold the task. A stopped task has not failed.
after_failure() {
  local word
  if [[ $PSL_FAILED_SCRIPT ]]; then
    report failed "$PSL_ROLE" "$PSL_SLOT" "$1" "$2" "$PSL_FAILED_SCRIPT"
  fi
  for word in ${PSL_HOOKS_AFTER[PSL_ROLE]-}; do
    if [[ $word == failure.* ]] && ((!PSL_STOPPED)); then
      PAISLURM_EXIT_STATUS=$3 run_hook "$2" "$word"
    fi
  done
  ((PSL_STOPPED)) || hold_for_debug "$@"
}

# record_script ATTEMPT MOMENT STATUS BEGAN NAME: record a run of a hook or the commands. The line
# is: ATTEMPT MOMENT STATUS BEGAN ENDED NAME.
record_script() {
  [[ ${PSL_HOOKS_BEFORE[PSL_ROLE]-}${PSL_HOOKS_AFTER[PSL_ROLE]-} ]] || return 0
  read_clock
  printf '%s %s %s %s %s %s\n' "$1" "$2" "$3" "$4" "$PSL_NOW" "$5" >>"$PSL_SCRIPTS_LOG"
}

# hold_for_debug INDEX ATTEMPT STATUS: keep the node, devices, files and background processes of a
# failed task for debugging. Only for jobs with isDebug; TERM ends the hold.
hold_for_debug() {
  [[ $PSL_DEBUG_HOLD_SECONDS ]] || return 0
  read_clock
  report held "$PSL_ROLE" "$PSL_SLOT" "$1" "$2" "$3" "$((PSL_NOW + PSL_DEBUG_HOLD_SECONDS))"
  launch command -p sleep "$PSL_DEBUG_HOLD_SECONDS"
  await_command
}


# run_hook ATTEMPT WORD: run a hook, and return its status if that fails the task. With the policy
# fail a hook stops at its first failing command. With the policy continue it fails only by `exit`
# or a signal, and with ignore, for our own programs, never. The output of hooks goes to a separate
# log, because the exit specification matches the output of the commands.
# Source: OpenPAI runtime, plugin_utils.
run_hook() {
  local attempt=$1 moment number kind name policy file status=0 began
  local -a options=(-e)
  IFS=. read -r moment number kind name policy <<<"$2"
  file=$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.$moment.$number.sh
  if [[ $policy != fail ]]; then
    options=()
  fi
  read_clock
  began=$PSL_NOW
  if [[ $moment == start ]]; then
    run_and_take_exports "$file" ${options[@]+"${options[@]}"} || status=$?
  else
    options+=(--)
    run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" "${options[@]}" || status=$?
  fi
  record_script "$attempt" "$moment" "$status" "$began" "$name"
  ((status)) || return 0
  if [[ $policy == ignore || $moment == exit || $moment == failure ]]; then
    log "$name ended with status $status ($moment), which has no effect" 2>>"$PSL_STDERR_LOG"
    return 0
  fi
  note_failed_hook "$moment" "$kind" "$name" "$status"
  return "$status"
}

# note_failed_hook MOMENT KIND NAME STATUS: record that this hook fails the task.
note_failed_hook() {
  # Only the barrier of the plugin ssh ends with this status.
  if [[ $2.$3:$4 == plugin.ssh:10 ]]; then
    PSL_CODE_OF_SCRIPT='249 permanent'
  fi
  if ((!PSL_STOPPED)); then
    log "error: $3 failed with status $4 ($1); what it printed is in $PSL_RUNTIME_LOG" \
      2>>"$PSL_STDERR_LOG"
    PSL_FAILED_SCRIPT="$1 $2 $3"
  fi
}

# run_and_take_exports SCRIPT OPTION ...: run a start hook, and keep the variables that it exports.
# At its end the hook's bash prints them, for later hooks and the commands. They pass through an
# unnamed file, because they may contain secrets. Bash's own variables are left out.
run_and_take_exports() {
  local file=$1 status=0 out in print code
  exec {out}>"$PSL_RUNTIME_LOG.exports" || return
  exec {in}<"$PSL_RUNTIME_LOG.exports"
  rm -f -- "$PSL_RUNTIME_LOG.exports"
  print="(export -n PWD OLDPWD SHLVL SHELLOPTS BASHOPTS UID EUID PPID _; set -o posix; export -p)"
  print+=" >&$out"
  # The hook may set an EXIT trap, or call exit.
  code="trap '$print' EXIT; source \"\$0\"; $print"
  run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" "${@:2}" -c "$code" || status=$?
  IFS= read -r -d '' PSL_EXPORTS <&"$in"
  exec {out}>&- {in}<&-
  return "$status"
}

# remove_logins: remove the credentials that the plugin git keeps while the task runs.
remove_logins() {
  local file
  [[ ${PSL_HOOKS_BEFORE[PSL_ROLE]-} ]] || return 0
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  for file in "$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.git."*; do
    if [[ -f $file ]]; then
      command -p rm -f -- "$file"
    fi
  done
}

# Running the commands, and the scripts around them: each in a bash and a process group of its own.

run_and_hold() {
  local status=0
  run_scripts "$2" || status=$?
  if [[ $PSL_FAILED_SCRIPT ]]; then
    report failed "$PSL_ROLE" "$PSL_SLOT" "$1" "$2" "$PSL_FAILED_SCRIPT"
  fi
  ((status == 0 || PSL_STOPPED)) || hold_for_debug "$1" "$2" "$status"
  return "$status"
}

# Go to the folder in which the commands start; the shell is in the task's own.
enter_workdir() {
  local folder=${WORKDIR[ROLE]-task} where=$SLURMD_NODENAME
  if [[ $folder == task ]]; then
    return 0
  fi
  if [[ $folder == submit ]]; then
    folder=$SUBMIT_DIR
  fi
  if cd -- "$folder" 2>/dev/null; then
    return 0
  fi
  [[ $CONTAINER_RUNTIME == none ]] || where="$where, in the container"
  if [[ -d $folder ]]; then
    say "error: the folder $folder cannot be entered on $where (extras.slurm.workdir)"
  else
    say "error: there is no folder $folder on $where (extras.slurm.workdir)"
  fi
  return 1
}

# Go to the folder in which the commands start; the shell is in the task's own.
enter_workdir() {
  local folder=${PSL_WORKDIR[PSL_ROLE]-task} where=$SLURMD_NODENAME
  if [[ $folder == task ]]; then
    return 0
  fi
  if [[ $folder == submit ]]; then
    folder=$PSL_SUBMIT_DIR
  fi
  if cd -- "$folder" 2>/dev/null; then
    return 0
  fi
  [[ $PSL_CONTAINER_RUNTIME == none ]] || where="$where, in the container"
  if [[ -d $folder ]]; then
    log "error: the folder $folder cannot be entered on $where (extras.slurm.workdir)"
  else
    log "error: there is no folder $folder on $where (extras.slurm.workdir)"
  fi
  return 1
}

# A failed task of a job with isDebug keeps its node, devices and files, so that somebody can look. TERM ends that.
hold_for_debug() {
  [[ ${PSL_DEBUG_HOLD_SECONDS-} ]] || return 0
  read_clock
  report held "$PSL_ROLE" "$PSL_SLOT" "$1" "$2" "$3" "$((PSL_NOW + PSL_DEBUG_HOLD_SECONDS))"
  launch command -p sleep "$PSL_DEBUG_HOLD_SECONDS"
  await_command
}

run_commands() {
  local status=0
  local -a options
  read -ra options <<<"${PSL_SHELL_OPTIONS[PSL_ROLE]}"
  ((PSL_RANKS == 1)) || release_ranks
  run_bash "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG" "$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.sh" ${options[@]+"${options[@]}"} -- || status=$?
  ((PSL_RANKS == 1)) || join_ranks "$status" || status=$?
  return "$status"
}

# run_bash OUTPUT ERRORS SCRIPT OPTION ...: to its end.
run_bash() {
  launch start_bash "$@"
  await_command
}

# start_bash OUTPUT ERRORS SCRIPT OPTION ...: become a bash that runs a script. One with secrets in it is in no file, but comes
# through a pipe.
start_bash() {
  local script=$3
  exec >>"$1" 2>>"$2" {PSL_REPORT_FD}>&- || exit 1
  if [[ ${PSL_SECRET_NAMES-} ]]; then
    insert_secrets "$script" || exit 1
    exec {PSL_SCRIPT_FD}< <(printf %s ${PSL_PIECES[@]+"${PSL_PIECES[@]}"})
    script=/dev/fd/$PSL_SCRIPT_FD
  fi
  exec_with_exports bash "${@:4}" "$script"
}

# exec_with_exports WORD ...: a bash, or what starts one. It begins with the lowercase variables that
# the script was started with, and with the variables that scripts before it exported: it reads them where BASH_ENV says, since everybody sees command lines.
exec_with_exports() {
  if [[ $PSL_EXPORTS ]] || ((${#PSL_LOWERCASE_EXPORTS[@]})); then
    exec {PSL_EXPORTS_FD}< <(
      print_exports ${PSL_LOWERCASE_EXPORTS[@]+"${PSL_LOWERCASE_EXPORTS[@]}"} && printf '%s' "$PSL_EXPORTS"
    )
    export BASH_ENV=/dev/fd/$PSL_EXPORTS_FD
  fi
  exec "$@"
}

# print_exports NAME=VALUE ...: for a bash that begins.
print_exports() {
  local setting
  printf 'unset BASH_ENV\n'
  for setting; do
    quote "${setting#*=}"
    printf 'export %s=%s\n' "${setting%%=*}" "$PSL_QUOTED"
  done
}

# launch WORD ...: a command in the background, which has no part in the bell. It is COMMAND.
launch() { start_group keep_status "$@"; }

# In a process group of its own and with the usual signals: job control gives both.
start_group() {
  set -m
  "$@" </dev/null &
  PSL_COMMAND=$!
  set +m
}

# A shell between this one and what it runs. Bash loses the status of a child that ends just when a signal interrupts
# the builtin `wait` (seen as 143 or 255), but not that of a child in the foreground.
keep_status() {
  PSL_STOPPED=0
  outlive_signals
  # A TERM that has come before the child is there would reach nobody.
  (
    if ((PSL_STOPPED)); then
      exit 143
    fi
    "$@"
  ) {PSL_CONTROL_FD}>&-
  printf 'end %s %s\n' "$BASHPID" "$?" >&"$PSL_CONTROL_FD"
}

# Wait for what was launched, answer calls meanwhile, and return its status. One that was killed says no end.
await_command() {
  local process=$PSL_COMMAND there=1 status
  while [[ ! ${PSL_EXIT_BY_PID[$process]-} ]] && { ((there)) || read -r -t 0 <&"$PSL_CONTROL_FD"; }; do
    if read_words "$PSL_CONTROL_FD"; then handle_control_message; else kill -0 "$process" 2>/dev/null || there=0; fi
    pass_on_term
  done
  if [[ ${PSL_EXIT_BY_PID[$process]-} ]]; then wait "$process"; status=${PSL_EXIT_BY_PID[$process]}; else wait_for_process "$process"; status=$?; fi
  unset "PSL_EXIT_BY_PID[$process]"
  PSL_COMMAND=''
  return "$status"
}

# What runs at the start can fail the task, and so can what runs after success; what runs at any end changes nothing,
# and of a task that is stopped it has the time up to KILL: a second TERM, by Slurm or by us, is not passed on to it.
run_scripts() {
  local attempt=$1 status=0 word began
  PSL_EXPORTS='' PSL_CODE_OF_SCRIPT='' PSL_FAILED_SCRIPT=''
  for word in ${PSL_HOOKS_BEFORE[PSL_ROLE]-}; do
    if ((PSL_STOPPED)); then
      break
    fi
    run_script "$attempt" "$word" || { status=$?; break; }
  done
  if ((PSL_STOPPED)); then
    status=143
  elif ((status == 0)); then
    read_clock
    began=$PSL_NOW
    run_commands || status=$?
    record_script "$attempt" commands "$status" "$began" -
  fi
  for word in ${PSL_HOOKS_AFTER[PSL_ROLE]-}; do
    case $word in
      success.*) ((status || PSL_STOPPED)) || run_script "$attempt" "$word" || status=$? ;;
      exit.*) PSL_ENDING=1; run_script "$attempt" "$word"; PSL_ENDING='' ;;
    esac
  done
  return "$status"
}

# One line for each script that ran: ATTEMPT MOMENT STATUS BEGAN ENDED NAME.
record_script() {
  [[ ${PSL_HOOKS_BEFORE[PSL_ROLE]-}${PSL_HOOKS_AFTER[PSL_ROLE]-} ]] || return 0
  read_clock
  printf '%s %s %s %s %s %s\n' "$1" "$2" "$3" "$4" "$PSL_NOW" "$5" >>"$PSL_SCRIPTS_LOG"
}

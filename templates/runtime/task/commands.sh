# Running the commands, and the scripts around them: each in a bash and a process group of its own.

run_and_hold() {
  local status=0
  run_scripts "$2" || status=$?
  [[ ! $FAILED_SCRIPT ]] || report failed "$ROLE" "$SLOT" "$1" "$2" "$FAILED_SCRIPT"
  ((status == 0 || STOPPED)) || hold_place "$1" "$2" "$status"
  return "$status"
}

# Go to the folder in which the commands start; the shell is in the task's own.
enter_workdir() {
  local folder=${WORKDIR[ROLE]-task} where=$SLURMD_NODENAME
  [[ $folder != task ]] || return 0
  [[ $folder != submit ]] || folder=$SUBMIT_DIR
  ! cd -- "$folder" 2>/dev/null || return 0
  [[ $CONTAINER_RUNTIME == none ]] || where="$where, in the container"
  if [[ -d $folder ]]; then
    say "error: the folder $folder cannot be entered on $where (extras.slurm.workdir)"
  else
    say "error: there is no folder $folder on $where (extras.slurm.workdir)"
  fi
  return 1
}

# A failed task of a job with isDebug keeps its node, devices and files, so that somebody can look. TERM ends that.
hold_place() {
  [[ ${DEBUG_SECONDS-} ]] || return 0
  read_clock
  report held "$ROLE" "$SLOT" "$1" "$2" "$3" "$((NOW + DEBUG_SECONDS))"
  launch command -p sleep "$DEBUG_SECONDS"
  await_command
}

run_commands() {
  local status=0
  local -a options
  read -ra options <<<"${SHELL_OPTIONS[ROLE]}"
  ((RANKS == 1)) || release_ranks
  run_bash "$STDOUT_LOG" "$STDERR_LOG" "$ATTEMPT_FOLDER/commands/${ROLE_FOLDER[ROLE]}.sh" ${options[@]+"${options[@]}"} -- || status=$?
  ((RANKS == 1)) || join_ranks "$status" || status=$?
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
  exec >>"$1" 2>>"$2" {CHANNEL}>&- || exit 1
  if [[ ${SECRET_NAMES-} ]]; then
    insert_secrets "$script" || exit 1
    exec {SCRIPT_FD}< <(printf %s ${PIECES[@]+"${PIECES[@]}"})
    script=/dev/fd/$SCRIPT_FD
  fi
  become bash "${@:4}" "$script"
}

# become WORD ...: a bash, or what starts one. It begins with what the submitting shell has under names of this script, and
# with the variables that scripts before it exported: it reads them where BASH_ENV says, since everybody sees command lines.
become() {
  if [[ $EXPORTS ]] || ((${#SUBMITTED[@]})); then
    exec {EXPORTS_FD}< <(print_exports ${SUBMITTED[@]+"${SUBMITTED[@]}"} && printf '%s' "$EXPORTS")
    export BASH_ENV=/dev/fd/$EXPORTS_FD
  fi
  exec "$@"
}

# print_exports NAME=VALUE ...: for a bash that begins.
print_exports() {
  local setting
  printf 'unset BASH_ENV\n'
  for setting; do
    quote "${setting#*=}"
    printf 'export %s=%s\n' "${setting%%=*}" "$QUOTED"
  done
}

# launch WORD ...: a command in the background, which has no part in the bell. It is COMMAND.
launch() { start_group keep_status "$@"; }

# In a process group of its own and with the usual signals: job control gives both.
start_group() {
  set -m
  "$@" </dev/null &
  COMMAND=$!
  set +m
}

# A shell between this one and what it runs. Bash loses the status of a child that ends just when a signal interrupts
# the builtin `wait` (seen as 143 or 255), but not that of a child in the foreground.
keep_status() {
  STOPPED=0
  outlive_signals
  # A TERM that has come before the child is there would reach nobody.
  (
    ((!STOPPED)) || exit 143
    "$@"
  ) {BELL}>&-
  printf 'end %s %s\n' "$BASHPID" "$?" >&"$BELL"
}

# Wait for what was launched, answer calls meanwhile, and return its status. One that was killed says no end.
await_command() {
  local process=$COMMAND there=1 status
  while [[ ! ${ENDS[$process]-} ]] && { ((there)) || read -r -t 0 <&"$BELL"; }; do
    if read_words "$BELL"; then hear; else kill -0 "$process" 2>/dev/null || there=0; fi
    pass_on_term
  done
  if [[ ${ENDS[$process]-} ]]; then wait "$process"; status=${ENDS[$process]}; else await "$process"; status=$?; fi
  unset "ENDS[$process]"
  COMMAND=''
  return "$status"
}

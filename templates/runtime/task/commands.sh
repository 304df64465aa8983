# Run the commands of a task in a separate bash and process group.

# run_task_commands INDEX ATTEMPT: run the commands with their hooks, and return the status of the
# task.
run_task_commands() {
  PSL_EXPORTS='' PSL_CODE_OF_SCRIPT=''
  PSL_WATCHED_TASK="$1 $2"  # only: progress
  if has_hooks; then  # only: hooks
    run_hooks_and_commands "$@"  # only: hooks
    return  # only: hooks
  fi  # only: hooks
  ((PSL_STOPPED)) && return 143
  run_commands "$@"
}

# run_commands INDEX ATTEMPT: run the commands, in every rank of the task, and return the status.
run_commands() {
  local status=0
  release_ranks  # only: native-mpi
  begin_watch  # only: progress
  make_held_pipe  # only: background
  launch start_commands
  await_command || status=$?
  read_uptime
  PSL_COMMANDS_ENDED=$PSL_UPTIME
  join_ranks "$status" || status=$?  # only: native-mpi
  end_watch  # only: progress
  await_background "$status" "$@"  # only: background
  return "$status"
}

# start_commands: become the bash that runs the commands.
start_commands() {
  local -a options
  PSL_NOTES_END=1
  hold_pipe  # only: background
  read -ra options <<<"${PSL_SHELL_OPTIONS[PSL_ROLE]}"
  start_bash "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG" \
    "$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.sh" \
    ${options[@]+"${options[@]}"} --
}

# run_bash OUTPUT ERRORS SCRIPT OPTION ...: run a script to its end, and return its status.
run_bash() {
  launch start_bash "$@"
  await_command
}

# start_bash OUTPUT ERRORS SCRIPT OPTION ...: become a bash that runs a script.
start_bash() {
  local script=$3
  exec >>"$1" 2>>"$2" {PSL_REPORT_FD}>&- || exit 1
  use_watched_logs  # only: progress
  pass_secrets || exit 1  # only: secrets
  exec_with_exports bash "${@:4}" "$script"
}

# exec_with_exports WORD ...: become a bash, or a program that starts one, with the user's umask.
# That bash reads a pipe that BASH_ENV names, because every user can see a command line: the
# original lowercase variables of this script's environment, those that hooks exported, and those
# about other tasks if the commands name some and not all are exported; last the start file that
# BASH_ENV named in the submitting shell. It cannot set PSL_PROGRAM_ENV, but passes it to programs.
exec_with_exports() {
  local peers=''
  if [[ ${PSL_NAMES_PEERS[PSL_ROLE]-} ]]; then
    quote "$PSL_ATTEMPT_FOLDER/peers.sh"
    printf -v peers '\nbuiltin source %s\n' "$PSL_QUOTED"
    peers=$PSL_KNOWN_PEERS  # only: slots
  fi
  if [[ $PSL_EXPORTS || $peers || ${PAISLURM_BASH_ENV-} || $PSL_NOTES_END ]] ||
    ((${#PSL_LOWERCASE_EXPORTS[@]})); then
    exec {PSL_EXPORTS_FD}< <(
      print_exports ${PSL_LOWERCASE_EXPORTS[@]+"${PSL_LOWERCASE_EXPORTS[@]}"} &&
        printf '%s' "$PSL_EXPORTS$peers" && print_traps &&
        [[ ${PAISLURM_BASH_ENV-} ]] && exec bash -p "$PSL_SCRIPT" --start-file
    )
    export BASH_ENV=/dev/fd/$PSL_EXPORTS_FD
  fi
  set_user_umask
  exec ${PSL_PROGRAM_ENV[@]+env} ${PSL_PROGRAM_ENV[@]+"${PSL_PROGRAM_ENV[@]}"} "$@"
}

# print_exports NAME=VALUE ...: print a start file that sets these variables. The user may have
# functions of any name.
print_exports() {
  local setting
  printf 'builtin unset -v BASH_ENV PAISLURM_BASH_ENV\n'
  if [[ ${PAISLURM_BASH_ENV-} ]]; then
    quote "$PAISLURM_BASH_ENV"
    printf 'builtin export BASH_ENV=%s\n' "$PSL_QUOTED"
  fi
  for setting; do
    quote "${setting#*=}"
    printf 'builtin export %s=%s\n' "${setting%%=*}" "$PSL_QUOTED"
  done
}

# print_traps: print traps by which the bash of the commands notes in PSL_END_LOG where they fail,
# as "STATUS LINE CALL ... 0 FILE COMMAND". CALL is the line of a call, the outermost last; FILE is
# '' if COMMAND is in the script itself. Only the trap on ERR knows LINE. Without errexit, when
# COMMAND may not be the last one, that trap removes itself, so that it costs nothing in a loop, and
# restores $_. Traps of the commands replace these. The file is private, whatever the umask. No
# output of the traps, such as that of xtrace, and no secret may reach the logs.
print_traps() {
  local note action command="\"\${BASH_COMMAND//\$'\n'/ }\""
  [[ $PSL_NOTES_END ]] || return 0
  [[ ${PSL_SECRET_NAMES-} ]] && command=''  # only: secrets
  quote "$PSL_END_LOG"
  IFS= read -r note <<'END_OF_NOTE'
builtin printf "%.300s " $'\n'"$PSL_LAST" "$LINENO" "${BASH_LINENO[@]}" "${BASH_SOURCE#"$0"}"
END_OF_NOTE
  note="builtin umask 0077; $note $command >>$PSL_QUOTED || builtin :; builtin umask $PSL_UMASK"
  note="for PSL_LAST in \"\$?\"; do $note; done"
  if [[ " ${PSL_SHELL_OPTIONS[PSL_ROLE]} " == *' -e '* ]]; then
    action="case \$- in *e*) $note ;; *) builtin trap - ERR && builtin : \"\$PSL_LAST\" ;; esac"
    quote "{ for PSL_LAST in \"\$_\"; do $action; done; } >/dev/null 2>&1"
    printf '\nbuiltin trap %s ERR' "$PSL_QUOTED"
  fi
  quote "{ case \$? in 0) ;; *) ${note/\$LINENO/0} ;; esac; } >/dev/null 2>&1"
  printf '\nbuiltin trap %s EXIT\n' "$PSL_QUOTED"
}

# launch WORD ...: start a command in the background as PSL_COMMAND, without the control FIFO.
launch() { start_group keep_status "$@"; }

# start_group WORD ...: start a function in the background, as process group PSL_COMMAND.
# Job control gives it that group, and the usual signals.
start_group() {
  set -m
  "$@" </dev/null &
  PSL_COMMAND=$!
  set +m
}

# keep_status WORD ...: run a command in the foreground, and write its status to the control FIFO.
# This shell runs between the task's shell and the command, because bash loses the status of a child
# that ends just when a signal interrupts the builtin `wait` (observed as 143 or 255).
keep_status() {
  PSL_STOPPED=0
  outlive_signals
  # A TERM before the start of the child would have no effect.
  (
    if ((PSL_STOPPED)); then
      exit 143
    fi
    "$@"
  ) {PSL_CONTROL_FD}>&-
  send "$PSL_CONTROL_FD" end "$BASHPID" "$?"
}

# await_command: wait for PSL_COMMAND, answer calls meanwhile, and return its status. A killed
# process has not written its end to the control FIFO.
await_command() {
  local process=$PSL_COMMAND alive=1 status
  until [[ ${PSL_EXIT_BY_PID[$process]-} ]]; do
    if ((!alive)) && ! read -r -t 0 <&"$PSL_CONTROL_FD"; then
      break
    fi
    if read_words "$PSL_CONTROL_FD"; then
      handle_control_message
    elif ! kill -0 "$process" 2>/dev/null; then
      alive=0
    fi
    check_progress  # only: progress
    pass_on_term
    watch_nodes  # only: restarts
  done
  if [[ ${PSL_EXIT_BY_PID[$process]-} ]]; then
    wait "$process"
    status=${PSL_EXIT_BY_PID[$process]}
  else
    wait_for_process "$process"
    status=$?
  fi
  unset 'PSL_EXIT_BY_PID[$process]'
  PSL_COMMAND=''
  return "$status"
}

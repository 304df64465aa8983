# Calls: how a command gets into a task from another one, or from outside.
#
# A caller on the node makes a folder with the command and a pipe each for input, output, errors, status and life, and
# writes the folder's name into the bell. The task's own shell starts the command, so that it has the task's container,
# devices, limits, working directory and environment. The caller holds `life` open: when nobody does, the caller is
# dead, and the command is killed.

# serve_call FOLDER: run its command, with the folder's pipes, in a process group of its own.
serve_call() {
  local folder=$1 life status both input command watcher code
  # Opened for reading and writing first, so that no opening waits for a caller who is dead.
  exec {both}<>"$folder/life"
  exec {life}<"$folder/life" {both}>&- {status}>"$folder/status"
  printf 'open\n' >&"$status"
  exec {input}<"$folder/in" >"$folder/out" 2>"$folder/err"
  set -m
  "$PSL_SERVE_WITH" "$folder" <&"$input" {input}<&- {life}<&- {status}>&- &
  command=$!
  # Whoever has these open keeps the caller waiting for more.
  exec {input}<&- >/dev/null 2>&1
  { kill_when_over "$life" "$command"; rm -rf -- "$folder"; } {status}>&- &
  watcher=$!
  set +m
  wait_for_process "$command"
  code=$?
  # A caller who hears of the end goes, which is no reason to kill what the command has left running. But of a command
  # that ends because its caller is dead, something may be left to kill.
  read -r -t 0 <&"$life" || kill -KILL -- "-$watcher"
  printf 'end %s\n' "$code" >&"$status"
}

# What a call runs in a task. To Open MPI two tasks on a node are two hosts, yet its files of shared memory and of the
# session are named by the host: they need folders of their own. The task's command does not have these variables, since
# mpirun would hand them on to all.
run_remote_command() {
  local command='' folder=/dev/shm/${PSL_NODE_FOLDER##*/}-$PSL_ROLE.$PSL_SLOT
  IFS= read -r -d '' command <"$1/command"
  mkdir -m 0700 -- "$folder" 2>/dev/null
  if is_own_folder "$folder"; then
    export OMPI_MCA_btl_vader_backing_directory=$folder OMPI_MCA_btl_sm_backing_directory=$folder \
      OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder
  elif [[ -e $folder || -L $folder ]]; then
    log "error: $folder on $SLURMD_NODENAME is another user's: nothing runs beside it"
    exit 255
  fi
  if [[ -e $1/terminal ]]; then
    run_in_terminal "$1" "$command"
  fi
  exec_with_exports bash -c "$command"
}

# A pipe with an end for reading, PSL_READ_END, and one for writing, PSL_WRITE_END.
make_pipe() {
  local both
  exec {both}<> <(:)
  exec {PSL_READ_END}<"/dev/fd/$both" {PSL_WRITE_END}>"/dev/fd/$both" {both}>&-
}

# kill_when_over LIFE GROUP: kill it when no process has the pipe open for writing any more.
kill_when_over() {
  local child=''
  read -r child <&"$1"
  # What has a terminal is in a session of its own, below the process that made the terminal.
  read -r child _ <"/proc/$2/task/$2/children"
  end_group "$2"
  if [[ $child ]]; then
    kill -KILL -- "-$child"
  fi
}

# end_group GROUP: by TERM, and by KILL if that was not enough.
end_group() {
  kill -TERM -- "-$1"
  sleep 2
  kill -KILL -- "-$1"
}

# run_in_terminal FOLDER COMMAND: become a terminal for the command of a call.
run_in_terminal() {
  local rows columns inner shell=${SHELL-}
  read -r rows columns TERM <"$1/terminal"
  export TERM
  quote "$1/tty"
  inner="stty sane rows $rows cols $columns; tty >$PSL_QUOTED;"
  quote "$shell"
  if [[ $shell ]]; then
    inner+=" export SHELL=$PSL_QUOTED;"
  fi
  quote "$2"
  inner+=" exec bash -c $PSL_QUOTED"
  # It would start $SHELL, which can be anything.
  unset SHELL
  if type -P script >/dev/null; then exec_with_exports script -q -e -c "$inner" /dev/null; fi
  ! type -P python3 >/dev/null ||
    exec_with_exports python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))' "$inner"
  log "error: a terminal needs script(1) or python3 where the task runs; without one: paislurm exec ... | cat"
  exit 127
}

# In the task: size CALL ROWS COLUMNS.
set_size() {
  local terminal
  [[ $1 != */* && "$2$3" =~ ^[0-9]+$ ]] && read -r terminal <"$PSL_NODE_FOLDER/$1/tty" || return 0
  stty -F "$terminal" rows "$2" cols "$3"
} 2>/dev/null

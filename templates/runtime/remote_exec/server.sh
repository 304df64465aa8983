# Serve calls in a task. A call is a command from another task, or from outside the job.
#
# The caller, on the same node, makes a folder with the command and a named pipe each for input,
# output, errors, status and life, and writes the folder's name to the task's control FIFO. The
# task's shell starts the command, so it is in the task's container, limits and environment. When no
# process has `life` open, the caller is dead, and the task's shell kills the command.

# serve_call FOLDER: run the command of a call, with the folder's pipes, in its own process group.
serve_call() {
  local folder=$1 life status both input command watcher code
  # Open `life` for reading and writing first, which does not wait for a dead caller.
  exec {both}<>"$folder/life"
  exec {life}<"$folder/life" {both}>&- {status}>"$folder/status"
  send "$status" open
  exec {input}<"$folder/in" >"$folder/out" 2>"$folder/err"
  set -m
  "$PSL_SERVE_WITH" "$folder" <&"$input" {input}<&- {life}<&- {status}>&- &
  command=$!
  # Close these, because the caller waits until no process has them open.
  exec {input}<&- >/dev/null 2>&1
  end_with_caller "$life" "$command" "$folder" {status}>&- &
  watcher=$!
  set +m
  wait_for_process "$command"
  code=$?
  # A caller that has read the status exits, which must not kill processes that the command has left
  # running. But if the command ended because its caller is dead, keep the watcher, which may have
  # processes to kill.
  if ! read -r -t 0 <&"$life"; then
    kill -KILL -- "-$watcher"
  fi
  printf 'end %s\n' "$code" >&"$status"
}

# end_with_caller LIFE COMMAND FOLDER: when the caller is dead, end its command, and remove the
# folder of the call.
end_with_caller() {
  kill_when_over "$1" "$2"
  rm -rf -- "$3"
}

# run_remote_command FOLDER: become the command of a call. Open MPI takes two tasks on a node for
# two hosts, but names its session and shared memory files by the host, so tasks need separate
# folders. Set these variables only in calls: mpirun in the task's command would pass them to all
# ranks.
run_remote_command() {
  local command='' folder=/dev/shm/${PSL_NODE_FOLDER##*/}-$PSL_ROLE.$PSL_SLOT
  IFS= read -r -d '' command <"$1/command"
  mkdir -m 0700 -- "$folder" 2>/dev/null
  if is_own_folder "$folder"; then
    export OMPI_MCA_btl_vader_backing_directory=$folder OMPI_MCA_btl_sm_backing_directory=$folder \
      OMPI_MCA_orte_tmpdir_base=$folder PRTE_MCA_prte_tmpdir_base=$folder
  elif [[ -e $folder || -L $folder ]]; then
    log "error: $folder on $SLURMD_NODENAME is another user's: the command cannot run"
    exit 255
  fi
  if [[ -e $1/terminal ]]; then
    exec_with_exports sh "$1/terminal"
  fi
  exec_with_exports bash -c "$command"
}

# kill_when_over LIFE GROUP: kill a process group when no process has the pipe open for writing.
kill_when_over() {
  local child=''
  read -r child <&"$1"
  # A command with a terminal is in a separate session, below the process that made the terminal.
  read -r child _ <"/proc/$2/task/$2/children"
  end_group "$2"
  if [[ $child ]]; then
    kill -KILL -- "-$child"
  fi
}

# end_group GROUP: end a process group with TERM, and with KILL after 2 s.
end_group() {
  kill -TERM -- "-$1"
  sleep 2
  kill -KILL -- "-$1"
}

# set_size CALL ROWS COLUMNS: resize the terminal of a call in the task.
set_size() {
  local terminal
  [[ $1 != */* && "$2$3" =~ ^[0-9]+$ ]] || return 0
  read -r terminal <"$PSL_NODE_FOLDER/$1/tty" || return 0
  stty -F "$terminal" rows "$2" cols "$3"
} 2>/dev/null

# make_pipe: make an unnamed pipe, with the ends PSL_READ_END and PSL_WRITE_END.
make_pipe() {
  local both
  exec {both}<> <(:)
  exec {PSL_READ_END}<"/dev/fd/$both" {PSL_WRITE_END}>"/dev/fd/$both" {both}>&-
}

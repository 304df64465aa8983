# Serve calls in a task. A call is a command that comes from another task, or from outside the job.
#
# The caller, on the same node, makes a folder with the command and a named pipe each for input,
# output, errors, status and life, and writes the folder's name into the task's control FIFO. The
# task's own shell starts the command, so that the command has the task's container, devices,
# limits, working directory and environment. The caller holds `life` open: when no process does, the
# caller is dead, and the task's shell kills the command.

# serve_call FOLDER: run the command of a call, with the folder's pipes, in its own process group.
serve_call() {
  local folder=$1 life status both input command watcher code
  # Opened for reading and writing first, `life` does not wait for a caller who is dead.
  exec {both}<>"$folder/life"
  exec {life}<"$folder/life" {both}>&- {status}>"$folder/status"
  printf 'open\n' >&"$status"
  exec {input}<"$folder/in" >"$folder/out" 2>"$folder/err"
  set -m
  "$PSL_SERVE_WITH" "$folder" <&"$input" {input}<&- {life}<&- {status}>&- &
  command=$!
  # Close these here, because the caller waits until no process has them open.
  exec {input}<&- >/dev/null 2>&1
  end_with_caller "$life" "$command" "$folder" {status}>&- &
  watcher=$!
  set +m
  wait_for_process "$command"
  code=$?
  # A caller that has read the status goes, which is no reason to kill what the command has left
  # running. But a command may have ended because its caller is dead: then the watcher must live,
  # since it may have something left to kill.
  if ! read -r -t 0 <&"$life"; then
    kill -KILL -- "-$watcher"
  fi
  printf 'end %s\n' "$code" >&"$status"
}

# end_with_caller LIFE COMMAND FOLDER: wait until the caller is dead, end its command, and remove
# the folder of the call.
end_with_caller() {
  kill_when_over "$1" "$2"
  rm -rf -- "$3"
}

# run_remote_command FOLDER: become the command of a call. Open MPI takes two tasks on a node for
# two hosts, but names its files of shared memory and of the session by the host, so tasks need
# folders of their own. Only calls have the variables that say so: mpirun in the task's command
# would pass them on to all ranks.
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
    exec_with_exports sh "$1/terminal"
  fi
  exec_with_exports bash -c "$command"
}

# kill_when_over LIFE GROUP: kill a process group when no process has the pipe open for writing.
kill_when_over() {
  local child=''
  read -r child <&"$1"
  # A command with a terminal is in a session of its own, below the process that made the terminal.
  read -r child _ <"/proc/$2/task/$2/children"
  end_group "$2"
  if [[ $child ]]; then
    kill -KILL -- "-$child"
  fi
}

# end_group GROUP: end a process group by TERM, and by KILL if that was not enough.
end_group() {
  kill -TERM -- "-$1"
  sleep 2
  kill -KILL -- "-$1"
}

# set_size CALL ROWS COLUMNS: give the terminal of a call, in the task, another size.
set_size() {
  local terminal
  [[ $1 != */* && "$2$3" =~ ^[0-9]+$ ]] || return 0
  read -r terminal <"$PSL_NODE_FOLDER/$1/tty" || return 0
  stty -F "$terminal" rows "$2" cols "$3"
} 2>/dev/null

# Make a pipe without a name, with one end for reading, PSL_READ_END, and one for writing,
# PSL_WRITE_END.
make_pipe() {
  local both
  exec {both}<> <(:)
  exec {PSL_READ_END}<"/dev/fd/$both" {PSL_WRITE_END}>"/dev/fd/$both" {both}>&-
}

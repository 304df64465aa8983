# Wait for processes that successful commands of protocol v2 leave in the background, as on OpenPAI.
#
# OpenPAI's runtime ends when no process has the pipe of the task's log open, as 1, 2, 62 or 63.
# Here 1 and 2 are files, and 63 is a pipe that carries nothing. A failure ends the task at once.
# Source: OpenPAI runtime, runtime_entry.sh.

# The end of the pipe to read from, "PID:NAME" of each process that keeps the task alive, and the
# processes around the commands that write to the same logs.
PSL_HELD_FD='' PSL_HOLDERS=() PSL_AROUND=''

# make_held_pipe: make the pipe that the next commands inherit.
make_held_pipe() {
  exec {PSL_HELD_FD}< <(:)
  PSL_AROUND=''
  find_holders
  PSL_AROUND=" ${PSL_HOLDERS[*]-}"
}

# hold_pipe: in the process that becomes the commands, keep only the other end of the pipe.
hold_pipe() {
  if [[ $PSL_HELD_FD ]]; then
    exec 63>"/proc/self/fd/$PSL_HELD_FD" {PSL_HELD_FD}<&-
  fi
}

# await_background STATUS INDEX ATTEMPT: if the commands have ended with STATUS 0, report the
# processes that they leave, and wait until these end. On TERM, forward it to them.
await_background() {
  if (($1 == 0 && !PSL_STOPPED)) && is_held; then
    read_clock
    report background "$PSL_ROLE" "$PSL_SLOT" "$2" "$3" "$PSL_NOW" \
      ${PSL_HOLDERS[@]+"${PSL_HOLDERS[@]:0:8}"}
    launch outlast_holders >/dev/null 2>&1
    await_command
    if ((PSL_STOPPED)) && is_held; then
      kill -TERM ${PSL_HOLDERS[@]+"${PSL_HOLDERS[@]%%:*}"} 2>/dev/null
      launch outlast_holders >/dev/null 2>&1
      await_command
    fi
  fi
  exec {PSL_HELD_FD}<&-
  PSL_HELD_FD=''
}

# is_held: succeed if a process holds the pipe, or writes to a log as 1 or 2: Python's subprocess
# leaves nothing else open. At the end of a pipe `read -t 0` succeeds.
is_held() {
  find_holders
  ((${#PSL_HOLDERS[@]})) || ! read -r -t 0 <&"$PSL_HELD_FD"
}

# find_holders: set PSL_HOLDERS.
find_holders() {
  local process name
  PSL_HOLDERS=()
  for process in /proc/[0-9]*; do
    if [[ ($process/fd/63 -ef /dev/fd/$PSL_HELD_FD || $process/fd/1 -ef $PSL_STDOUT_LOG ||
      $process/fd/2 -ef $PSL_STDERR_LOG) && $PSL_AROUND != *" ${process#/proc/}:"* ]]; then
      name=''
      read -r name 2>/dev/null <"$process/comm"
      PSL_HOLDERS+=("${process#/proc/}:${name//[!A-Za-z0-9_.+-]/_}")
    fi
  done
}

# outlast_holders: wait until no process holds the pipe or writes to a log. The pipe has an end; a
# log has none, so look at it each second.
outlast_holders() {
  local rest
  while is_held; do
    if read -r -t 0 <&"$PSL_HELD_FD"; then
      command -p sleep 1
    fi
    read -r -d '' rest <&"$PSL_HELD_FD"
  done
}

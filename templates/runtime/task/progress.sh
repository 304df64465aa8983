# Watch whether a task moves, for the stall guard (`progress`).
#
# The commands write their logs through descriptors that this shell has opened: /proc shows how far
# they have written, without a process or a call to a file server. A program may open a log by
# itself, so the sizes of the logs are read before a task counts as quiet. A file system may hang:
# only a separate process reads files, and writes a sign, two numbers, to the control FIFO.

# The sign of progress (output, file or command; '' for no guard) and "INDEX ATTEMPT" of the task.
PSL_WATCH='' PSL_WATCHED_TASK=''
# The permitted milliseconds without progress, and those between two reads of the sign.
PSL_WATCH_WITHIN=0 PSL_WATCH_EVERY=0
# The uptime of the last progress, of the end of the warm-up, of the last check, and of the last
# start of a reader.
PSL_MOVED_AT=0 PSL_WARM_AT=0 PSL_CHECKED_AT=0 PSL_READ_AT=0
# The running reader, the last sign, the positions in the logs, and whether the task is quiet.
PSL_READER='' PSL_SIGN=() PSL_POSITIONS=(0 0) PSL_IS_QUIET=''
PSL_WATCHED_STDOUT='' PSL_WATCHED_STDERR=''

# note_process INDEX ATTEMPT: leave the process of this shell for the reader of a stall.
note_process() {
  printf '%s %s %s %s\n' "$PSL_ROLE" "$1" "$2" "$BASHPID" \
    >"$PSL_NODE_FOLDER/$PSL_ROLE.$PSL_SLOT.$PSL_RANK.shell"
}

# begin_watch: start to watch the commands, which begin now.
begin_watch() {
  local warm_up
  PSL_WATCH=''
  [[ ${PSL_PROGRESS[PSL_ROLE]-} ]] || return 0
  read -r PSL_WATCH_WITHIN warm_up _ <<<"${PSL_PROGRESS[PSL_ROLE]}"
  # Look ten times in the window, at most each second and at least every ten.
  PSL_WATCH_EVERY=$((PSL_WATCH_WITHIN * 100))
  PSL_WATCH_EVERY=$((PSL_WATCH_EVERY > 10000 ? 10000 : PSL_WATCH_EVERY))
  PSL_WATCH_EVERY=$((PSL_WATCH_EVERY < 1000 ? 1000 : PSL_WATCH_EVERY))
  PSL_WATCH_WITHIN=$((PSL_WATCH_WITHIN * 1000))
  PSL_SIGN=() PSL_POSITIONS=(0 0) PSL_IS_QUIET=''
  if [[ ${PSL_PROGRESS_FILE[PSL_ROLE]-} ]]; then
    PSL_WATCH='file'
  elif [[ ${PSL_PROGRESS_COMMAND[PSL_ROLE]-} ]]; then
    PSL_WATCH='command'
  else
    PSL_WATCH=output
    exec {PSL_WATCHED_STDOUT}>>"$PSL_STDOUT_LOG" {PSL_WATCHED_STDERR}>>"$PSL_STDERR_LOG"
    read -ra PSL_SIGN <<<"$(print_sign)"
    # Read the sizes only where the positions do not change for the window.
    PSL_WATCH_EVERY=$PSL_WATCH_WITHIN
  fi
  read_uptime
  PSL_CHECKED_AT=$PSL_UPTIME PSL_READ_AT=$PSL_UPTIME PSL_WARM_AT=$((PSL_UPTIME + warm_up * 1000))
  # The warm-up counts as progress.
  PSL_MOVED_AT=$PSL_WARM_AT
}

# end_watch: stop to watch, when the commands have ended.
end_watch() {
  if [[ $PSL_READER ]]; then
    kill -KILL -- "-$PSL_READER" 2>/dev/null
    PSL_READER=''
  fi
  if [[ $PSL_WATCH == output ]]; then
    exec {PSL_WATCHED_STDOUT}>&- {PSL_WATCHED_STDERR}>&-
  fi
  PSL_WATCH=''
}

# use_watched_logs: in the process that becomes the commands, write to the watched descriptors.
use_watched_logs() {
  [[ $PSL_WATCH == output ]] || return 0
  exec 1>&"$PSL_WATCHED_STDOUT" 2>&"$PSL_WATCHED_STDERR"
  exec {PSL_WATCHED_STDOUT}>&- {PSL_WATCHED_STDERR}>&-
}

# check_progress: note whether the task moves, and report when it becomes quiet.
check_progress() {
  local due
  [[ $PSL_WATCH ]] || return 0
  read_uptime
  # This shell did not run either: the job was suspended.
  if ((PSL_UPTIME - PSL_CHECKED_AT > 10000)); then
    PSL_MOVED_AT=$((PSL_MOVED_AT + PSL_UPTIME - PSL_CHECKED_AT))
  fi
  PSL_CHECKED_AT=$PSL_UPTIME
  if [[ $PSL_WATCH == output ]]; then
    check_position 0 "$PSL_WATCHED_STDOUT"
    check_position 1 "$PSL_WATCHED_STDERR"
  fi
  due=$((PSL_MOVED_AT + PSL_WATCH_WITHIN))
  if [[ ! $PSL_IS_QUIET ]] && ((PSL_UPTIME >= due)) && has_last_sign "$due"; then
    PSL_IS_QUIET=1
    send "$PSL_REPORT_FD" quiet "$PSL_ROLE" "$PSL_SLOT" "$PSL_WATCHED_TASK"
  fi
  if [[ ! $PSL_READER ]] && ((PSL_UPTIME - PSL_READ_AT >= PSL_WATCH_EVERY ||
    (PSL_UPTIME >= due && PSL_READ_AT < due))); then
    start_reader
  fi
}

# has_last_sign UPTIME: succeed if the sign has been read since then, or if its reader hangs.
has_last_sign() {
  local patience=5000
  if [[ ! $PSL_READER ]]; then
    ((PSL_READ_AT >= $1))
    return
  fi
  if [[ $PSL_WATCH == 'command' ]]; then
    patience=35000
  fi
  ((PSL_UPTIME - PSL_READ_AT >= patience))
}

# check_position STREAM DESCRIPTOR: note progress if the commands have written to the stream.
check_position() {
  local position
  read -r _ position <"/proc/self/fdinfo/$2" || return
  [[ $position != "${PSL_POSITIONS[$1]}" ]] || return 0
  PSL_POSITIONS[$1]=$position PSL_SIGN[$1]=$position
  if ((PSL_ONE_LOG)); then
    PSL_SIGN=("$position" "$position")
  fi
  PSL_READ_AT=$PSL_UPTIME
  note_progress
}

# note_progress: note that the task has moved, and report it if the task was quiet.
note_progress() {
  PSL_MOVED_AT=$((PSL_UPTIME > PSL_WARM_AT ? PSL_UPTIME : PSL_WARM_AT))
  if [[ $PSL_IS_QUIET ]]; then
    PSL_IS_QUIET=''
    send "$PSL_REPORT_FD" moved "$PSL_ROLE" "$PSL_SLOT" "$PSL_WATCHED_TASK"
  fi
}

# start_reader: read the sign of progress in the background.
start_reader() {
  PSL_READ_AT=$PSL_UPTIME
  set -m
  {
    send "$PSL_CONTROL_FD" sign "$(print_sign {PSL_CONTROL_FD}>&-)"
  } </dev/null 2>/dev/null {PSL_REPORT_FD}>&- &
  PSL_READER=$!
  set +m
}

# on_sign NUMBER NUMBER: act on the sign that a reader has found. The sizes of logs differ from the
# positions if programs write to logs that they have opened by themselves: then read them often.
on_sign() {
  [[ $PSL_WATCH && $PSL_READER && "$1$2" =~ ^[0-9]+$ ]] || return 0
  wait "$PSL_READER"
  PSL_READER=''
  if [[ ${PSL_SIGN[*]-} && ${PSL_SIGN[*]-} != "$1 $2" ]]; then
    read_uptime
    note_progress
    if [[ $PSL_WATCH == output && $PSL_WATCH_WITHIN -gt 10000 ]]; then
      PSL_WATCH_EVERY=10000
    fi
  fi
  PSL_SIGN=("$1" "$2")
}

# print_sign: print two numbers that change with progress.
print_sign() {
  local i
  local -a words
  case $PSL_WATCH in
    output)
      read -rd '' -a words < <(command -p stat -c %s -- "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG")
      ;;
    file)
      shopt -s nullglob
      IFS=''
      # shellcheck disable=SC2206 # a pattern
      words=(${PSL_PROGRESS_FILE[PSL_ROLE]})
      unset IFS
      read -ra words < <(
        for ((i = 0; i < ${#words[@]}; i += 1000)); do
          command -p stat -c '%n %s %y' -- "${words[@]:i:1000}"
        done | command -p cksum
      )
      ;;
    command)
      read -ra words < <(
        (exec_with_exports timeout -k 2 30 bash -c "${PSL_PROGRESS_COMMAND[PSL_ROLE]}") |
          command -p cksum
      )
      ;;
  esac
  printf '%s %s' "${words[@]:0:2}"
}

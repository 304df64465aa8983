# Placing calls: `ssh ROLE-INDEX COMMAND` in a task, and `paislurm exec`, get a command into another task.

# send_call BELL COMMAND [TERMINAL]: standard input, output and errors are the command's, and so is the status; 255 if
# there is no answer. TERMINAL says rows, columns and kind of the terminal that the command is to have.
send_call() {
  local bell=$1 folder word result='' tries=0 life status end in out err source input output sizes=''
  has_reader "$bell" || { log "error: no task answers: it has ended, or not yet begun"; return 255; }
  folder=$(mktemp -d "${bell%/*}/call.XXXXXX") || return 255
  # shellcheck disable=SC2064 # the folder of this call
  trap "rm -rf -- '$folder'" EXIT
  (cd -- "$folder" && mkfifo in out err life status) && printf '%s' "$2" >"$folder/command" || return 255
  [[ ! ${3-} ]] || printf '%s\n' "$3" >"$folder/terminal" || return 255
  exec {life}<>"$folder/life" {status}<>"$folder/status"
  printf 'call %s\n' "${folder##*/}" 1<>"$bell"
  until read -r -t 1 word <&"$status"; do
    if ((++tries == PSL_REMOTE_TIMEOUT)) || ! has_reader "$bell"; then log "error: the task does not answer"; return 255; fi
  done
  exec {end}<"$folder/status" {status}>&- {in}>"$folder/in" {out}<"$folder/out" {err}<"$folder/err" {source}<&0
  cat <&"$source" >&"$in" {life}>&- {in}>&- {out}<&- {err}<&- &
  input=$!
  exec {in}>&-
  if [[ ${3-} ]]; then
    pass_sizes "$bell" "${folder##*/}" <&"$source" >/dev/null {life}>&- {out}<&- & sizes=$!
  fi
  output_blocks || make_output_block || log "warning: standard output does not block, and only perl or python3 could change that"
  # When nobody reads any more, the command is to know: no other process has its pipe open.
  { cat <&"$err" >&2 {out}<&- & cat <&"$out"; exec {out}<&-; wait; } {life}>&- &
  output=$!
  exec {out}<&- {err}<&-
  read -r word result <&"$end" || log "error: the task was killed"
  wait "$output"
  kill "$input" ${sizes:+"$sizes"} 2>/dev/null
  return "${result:-255}"
}

# rsync hands on a standard output that does not block: neither bash nor cat waits there until there is room.
output_blocks() {
  local name value
  while read -r name value; do
    [[ $name != flags: ]] || ((!(8#$value & 8#4000))) || return 1
  done </proc/self/fdinfo/1
}

make_output_block() {
  perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, fcntl(STDOUT, F_GETFL, 0) & ~O_NONBLOCK) or exit 1' ||
    python3 -c 'import os; os.set_blocking(1, True)'
} 2>/dev/null

# exec_in_task ROLE SLOT COMMAND [TERMINAL]: what Slurm starts on the task's node rings there, and passes on what goes in and out. It
# is killed when this shell is gone. Its errors and those of srun come by different ways, since srun says what we know.
# A node that does not answer is given up by srun, after Slurm's MessageTimeout.
exec_in_task() {
  local role=$1 slot=$2 name life hold printed output shown errors heard said input job watcher status
  local -a options
  if [[ ${PAISLURM_INSIDE-} ]]; then
    send_call "$PAISLURM_BELL$PSL_HOST_SUFFIX" "$role $slot"$'\n'"$3"
    exit
  fi
  nodes_of "$role"
  # Unbuffered: else srun keeps back what ends in no newline, and rsync at both ends waits for the other.
  options=("--jobid=$PSL_JOB_ID" --overlap --mem=0 --gres=none --mpi=none --export=ALL --unbuffered --quiet --job-name=ssh
    "--nodelist=${PSL_NODES[slot]}" --nodes=1 --ntasks=1 --cpus-per-task=1 --cpu-bind=none --chdir=/)
  if [[ $PSL_LAYOUT == het ]]; then
    options+=("--het-group=$role")
  fi
  for name in "${!SLURM_@}" "${!SRUN_@}"; do [[ $name == SLURM_CONF ]] || unset "$name"; done
  [[ ! ${4-} ]] || exec srun "${options[@]}" --pty bash -p "$PSL_SCRIPT" --relay "$PSL_FOLDER" "$PSL_ATTEMPT" "$role.$slot" "$3" terminal \
    2> >(show_errors "${PSL_NODES[slot]}")
  make_pipe && life=$PSL_READ_END hold=$PSL_WRITE_END
  make_pipe && shown=$PSL_READ_END errors=$PSL_WRITE_END
  make_pipe && heard=$PSL_READ_END said=$PSL_WRITE_END
  # srun can write to what does not block.
  if output_blocks; then make_pipe && printed=$PSL_READ_END output=$PSL_WRITE_END; else exec {output}>&1 {printed}</dev/null; fi
  exec {input}<&0
  set -m
  srun "${options[@]}" --error="/dev/fd/$errors" bash -p "$PSL_SCRIPT" --relay "$PSL_FOLDER" "$PSL_ATTEMPT" "$role.$slot" "$3" \
    <&"$input" >&"$output" 2>&"$said" {output}>&- {said}>&- {heard}<&- {hold}>&- {life}<&- {printed}<&- {shown}<&- {input}<&- &
  job=$!
  exec {output}>&- {errors}>&- {said}>&-
  # And it goes on when nobody reads. As with a daemon, that is the end of what prints again.
  {
    cat <&"$printed" || ! IFS= read -r -d '' -n1 _ <&"$printed" || { exec {printed}<&-; end_group "$job" & exit 1; }
  } {heard}<&- {hold}>&- {life}<&- {shown}<&- {input}<&- &
  output=$!
  exec {printed}<&-
  cat <&"$shown" >&2 {heard}<&- {hold}>&- {life}<&- {input}<&- &
  shown=$!
  show_errors "${PSL_NODES[slot]}" <&"$heard" {hold}>&- {life}<&- {input}<&- &
  heard=$!
  kill_when_over "$life" "$job" {hold}>&- {input}<&- >/dev/null 2>&1 &
  watcher=$!
  # Bash may have something to say about its jobs.
  exec 2>/dev/null
  set +m
  wait_for_process "$job"
  status=$?
  wait "$shown"
  wait "$heard" || status=255
  wait "$output" || status=255
  kill -KILL -- "-$watcher" "-$output"
  exit "$status"
}

# host_side_main FOLDER ATTEMPT CALL: a call that comes out of a container, which has no Slurm; its folder has the task and the
# command.
host_side_main() {
  local role slot command
  open_attempt "$1" "$2" || exit 255
  { read -r role slot && IFS= read -r -d '' command; } <"$3/command"
  exec_in_task "$role" "$slot" "$command"
}

# show_errors NODE: what srun itself has to say, but for how the command ended; false if it could not run there to its
# end. Of a node that is lost meanwhile srun says so, and ends with 0.
show_errors() {
  local line failed=0
  while IFS= read -r line; do
    case $line in
      *': task 0: '*) continue ;;
      'srun: error: '*' launch '* | 'srun: error: Unable to create step '* | 'srun: error: Node failure on '*) failed=1 ;;
    esac
    printf '%s\n' "$line" >&2
  done
  if ((failed)); then
    log "ssh: the command could not run to its end on node $1"
  fi
  return "$failed"
}

# relay_main FOLDER ATTEMPT BELL COMMAND [terminal]: on the node of the task that is called.
relay_main() {
  open_attempt "$1" "$2" || exit 255
  if [[ ${5-} ]]; then relay_terminal "$PSL_NODE_FOLDER/$3" "$4"; else send_call "$PSL_NODE_FOLDER/$3" "$4"; fi
}

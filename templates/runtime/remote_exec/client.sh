# Send calls to tasks, over Slurm and over control FIFOs. `ssh ROLE-INDEX COMMAND` in a task, and
# `paislurm exec`, run a command in another task by these functions.

# send_call FIFO COMMAND [TERMINAL]: run a command in the task of a control FIFO on this node, with
# this shell's standard input, output and errors. Return its status, or 255 if the task does not
# answer. TERMINAL is the rows, columns and kind of the command's terminal.
send_call() {
  local fifo=$1 folder word result='' life status end in out err source input output sizes=''
  if ! has_reader "$fifo"; then
    log "error: no task answers: it has ended, or not started yet"
    return 255
  fi
  folder=$(mktemp -d "${fifo%/*}/call.XXXXXX") || return 255
  # shellcheck disable=SC2064 # the folder of this call
  trap "rm -rf -- '$folder'" EXIT
  write_call "$folder" "$2" "${3-}" || return 255
  exec {life}<>"$folder/life" {status}<>"$folder/status"
  send 1 call "${folder##*/}" 1<>"$fifo"
  wait_for_answer "$fifo" "$status" || return 255
  # The task has opened its ends of the pipes, so opening these does not wait.
  exec {end}<"$folder/status" {status}>&- {in}>"$folder/in" {out}<"$folder/out" {err}<"$folder/err"
  exec {source}<&0
  cat <&"$source" >&"$in" {life}>&- {in}>&- {out}<&- {err}<&- &
  input=$!
  exec {in}>&-
  if [[ ${3-} ]]; then
    pass_sizes "$fifo" "${folder##*/}" <&"$source" >/dev/null {life}>&- {out}<&- &
    sizes=$!
  fi
  output_blocks || make_output_block ||
    log "warning: standard output is nonblocking; perl or python3 is needed to change that"
  copy_call_output "$out" "$err" {life}>&- &
  output=$!
  exec {out}<&- {err}<&-
  read -r word result <&"$end" || log "error: the task was killed"
  wait "$output"
  kill "$input" ${sizes:+"$sizes"} 2>/dev/null
  return "${result:-255}"
}

# write_call FOLDER COMMAND TERMINAL: fill the folder of a call: its pipes, its command and, unless
# TERMINAL is empty, its terminal.
write_call() {
  (cd -- "$1" && mkfifo in out err life status) || return
  printf '%s' "$2" >"$1/command" || return
  if [[ $3 ]]; then
    print_terminal_program "$@" >"$1/terminal"
  fi
}

# wait_for_answer FIFO STATUS: wait until the task has opened the pipes of the call. Give up when
# the task has ended, or after PSL_REMOTE_TIMEOUT seconds.
wait_for_answer() {
  local tries=0
  until read_words "$2"; do
    if ((++tries == PSL_REMOTE_TIMEOUT)) || ! has_reader "$1"; then
      log "error: the task does not answer"
      return 1
    fi
  done
}

# copy_call_output OUT ERR: copy the command's output until both pipes end.
copy_call_output() {
  local out=$1 err=$2
  cat <&"$err" >&2 {out}<&- &
  cat <&"$out"
  # cat ends when this shell's output has no reader. Only this process reads the command's output,
  # so closing it here gives the command SIGPIPE.
  exec {out}<&-
  wait
}

# output_blocks: succeed if standard output blocks. rsync gives its ssh a nonblocking one, on which
# bash and cat fail instead of waiting.
output_blocks() {
  local name value
  while read -r name value; do
    if [[ $name == flags: ]] && ((8#$value & 8#4000)); then
      return 1
    fi
  done </proc/self/fdinfo/1
}

make_output_block() {
  perl -e 'use Fcntl; fcntl(STDOUT, F_SETFL, fcntl(STDOUT, F_GETFL, 0) & ~O_NONBLOCK) or exit 1' ||
    python3 -I -c 'import os; os.set_blocking(1, True)'
} 2>/dev/null

# exec_in_task ROLE SLOT COMMAND [TERMINAL]: run a command in another task, and exit with its
# status. Slurm starts a relay on the task's node, which sends the call to the task. Containers have
# no Slurm, so the shell outside does this for them.
exec_in_task() {
  local name node
  local -a relay=(bash -p "$PSL_SCRIPT" --relay "$PSL_FOLDER" "$PSL_ATTEMPT" "$1.$2" "$3")
  if [[ ${PAISLURM_INSIDE-} ]]; then
    send_call "$PAISLURM_CONTROL$PSL_HOST_SUFFIX" "$1 $2"$'\n'"$3"
    exit
  fi
  nodes_of "$1"
  node=${PSL_NODES[$2]}
  set_relay_options "$1" "$node"
  for name in "${!SLURM_@}" "${!SRUN_@}"; do
    [[ $name == SLURM_CONF ]] || unset "$name"
  done
  if [[ ${4-} ]]; then
    exec srun "${PSL_RELAY_OPTIONS[@]}" --pty "${relay[@]}" terminal 2> >(show_errors "$node")
  fi
  run_relay "$node" "${relay[@]}"
}

# set_relay_options ROLE NODE: set PSL_RELAY_OPTIONS to the options of srun for a relay. srun gives
# up a node that does not answer after Slurm's MessageTimeout.
set_relay_options() {
  PSL_RELAY_OPTIONS=("--jobid=$PSL_JOB_ID" --overlap --mem=0 --gres=none --mpi=none --export=ALL
    # Otherwise srun holds back text without a newline, and both ends of rsync wait for each other.
    --unbuffered
    --quiet --job-name=ssh "--nodelist=$2" --nodes=1 --ntasks=1 --cpus-per-task=1 --cpu-bind=none
    --chdir=/)
  if [[ $PSL_LAYOUT == het ]]; then
    PSL_RELAY_OPTIONS+=("--het-group=$1")
  fi
}

# run_relay NODE WORD ...: run a relay with this shell's input, output and errors, and exit with its
# status. Use a pipe each for the command's output, its errors and srun's own messages. Only this
# shell has the writing end of the pipe `life`, which closes when this shell ends; then srun is
# killed.
run_relay() {
  local node=$1 life_read life_write output_read output_write errors_read errors_write
  local messages_read messages_write input srun output errors messages watcher status
  make_pipe && life_read=$PSL_READ_END life_write=$PSL_WRITE_END
  make_pipe && errors_read=$PSL_READ_END errors_write=$PSL_WRITE_END
  make_pipe && messages_read=$PSL_READ_END messages_write=$PSL_WRITE_END
  if output_blocks; then
    make_pipe && output_read=$PSL_READ_END output_write=$PSL_WRITE_END
  else
    # cat cannot write to a nonblocking output, but srun can.
    exec {output_write}>&1 {output_read}</dev/null
  fi
  exec {input}<&0
  PSL_CALL_FDS=("$life_read" "$life_write" "$errors_read" "$errors_write" "$messages_read"
    "$messages_write" "$output_read" "$output_write" "$input")
  set -m
  run_srun "$input" "$output_write" "$messages_write" "$errors_write" "${@:2}" &
  srun=$!
  exec {output_write}>&- {errors_write}>&- {messages_write}>&-
  copy_output "$output_read" "$srun" &
  output=$!
  exec {output_read}<&-
  (keep_open "$errors_read" && exec cat <&"$errors_read" >&2) &
  errors=$!
  (keep_open "$messages_read" && show_errors "$node" <&"$messages_read") &
  messages=$!
  (keep_open "$life_read" && kill_when_over "$life_read" "$srun") >/dev/null 2>&1 &
  watcher=$!
  # Bash may print messages about its jobs.
  exec 2>/dev/null
  set +m
  wait_for_process "$srun"
  status=$?
  wait "$errors"
  wait "$messages" || status=255
  wait "$output" || status=255
  kill -KILL -- "-$watcher" "-$output"
  exit "$status"
}

# keep_open FD: close the file descriptors of this call except FD. The reader of a pipe waits until
# no process has it open, so each process keeps only its own end.
keep_open() {
  local fd
  for fd in "${PSL_CALL_FDS[@]}"; do
    if [[ $fd != "$1" ]]; then
      exec {fd}>&-
    fi
  done
}

# run_srun INPUT OUTPUT MESSAGES ERRORS WORD ...: become srun. The errors of the command and the
# messages of srun use different pipes, because some messages of srun are not shown to the user.
run_srun() {
  exec <&"$1" >&"$2" 2>&"$3"
  keep_open "$4"
  exec srun "${PSL_RELAY_OPTIONS[@]}" --error="/dev/fd/$4" "${@:5}"
}

# copy_output PIPE SRUN: copy the command's output. srun continues after its reader closes, so end
# srun and fail when the command prints but this shell's output has no reader.
copy_output() {
  local pipe=$1
  keep_open "$pipe"
  if cat <&"$pipe" || ! IFS= read -r -d '' -n1 _ <&"$pipe"; then
    return 0
  fi
  exec {pipe}<&-
  end_group "$2" &
  exit 1
}

# show_errors NODE: print srun's own messages from standard input, except those about the command's
# status. Return 1 if the command could not run to its end on the node. If the node is lost
# meanwhile, srun ends with 0, and only its message reports the loss.
show_errors() {
  local line failed=0
  while IFS= read -r line; do
    case $line in
      *': task 0: '*) continue ;;
      # Slurm 22.05 prints it, in spite of --quiet, at sites with TaskPlugin=task/none.
      'srun: cluster configuration lacks support for cpu binding') continue ;;
      'srun: error: '*' launch '*) failed=1 ;;
      'srun: error: Unable to create step '*) failed=1 ;;
      'srun: error: Node failure on '*) failed=1 ;;
    esac
    printf '%s\n' "$line" >&2
  done
  if ((failed)); then
    log "ssh: the command could not run to its end on node $1"
  fi
  return "$failed"
}

# relay_main FOLDER ATTEMPT ROLE.SLOT COMMAND [terminal]: send a call to a task on this node.
relay_main() {
  open_attempt "$1" "$2" || exit 255
  if [[ ${5-} ]]; then
    relay_terminal "$PSL_NODE_FOLDER/$3" "$4"
  else
    send_call "$PSL_NODE_FOLDER/$3" "$4"
  fi
}

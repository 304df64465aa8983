# Read messages from the control FIFO of a slot.
#
# Each slot has a control FIFO in the node folder. The slot's shell reads it while it waits for
# commands. The messages are calls, and the ends of commands and ranks.

# check_node_folder: fail unless this user owns the node folder. A process that can write to a
# control FIFO can run commands as this user, so never read or write a FIFO in another user's
# folder.
check_node_folder() {
  if [[ -d $PSL_NODE_FOLDER ]] && is_own_folder "$PSL_NODE_FOLDER"; then
    return 0
  fi
  log "error: the folder for calls, $PSL_NODE_FOLDER on $SLURMD_NODENAME," \
    "is gone or another user's: the task cannot run"
  return 1
}

# open_control_fifo NAME: open a control FIFO as PSL_CONTROL_FD. If the FIFO is missing, use an
# unnamed pipe, to which only this shell's commands write.
open_control_fifo() {
  if [[ -p $PSL_NODE_FOLDER/$1 ]] && is_own_folder "$PSL_NODE_FOLDER"; then
    exec {PSL_CONTROL_FD}<>"$PSL_NODE_FOLDER/$1"
  else
    exec {PSL_CONTROL_FD}<> <(:)
  fi
  trap 'PSL_STOPPED=1; printf " stop\n" >&"$PSL_CONTROL_FD"' TERM
}

# handle_control_message: act on the message from the control FIFO in PSL_WORDS.
handle_control_message() {
  local folder
  case ${#PSL_WORDS[@]}:${PSL_WORDS[0]-} in
    3:end)
      [[ "${PSL_WORDS[1]}${PSL_WORDS[2]}" =~ ^[0-9]+$ ]] || return
      PSL_EXIT_BY_PID[${PSL_WORDS[1]}]=${PSL_WORDS[2]}
      on_end_of_rank "${PSL_WORDS[2]}"  # only: native-mpi
      ;;
    1:stop) PSL_STOPPED=1 ;;
    3:rank) on_start_of_rank "${PSL_WORDS[@]:1}" ;;  # only: native-mpi
    2:call)
      folder=$PSL_NODE_FOLDER/${PSL_WORDS[1]}
      if [[ ${PSL_WORDS[1]} != */* && -d $folder ]]; then
        serve_call "$folder" {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
      fi
      ;;
    3:sign) on_sign "${PSL_WORDS[@]:1}" ;;  # only: progress
    4:size) set_size "${PSL_WORDS[@]:1}" ;;
  esac
}

# close_control_fifo NAME: mark this FIFO as closed. The last slot of a node to do so removes the
# node folder.
close_control_fifo() {
  local file shared=/dev/shm/${PSL_NODE_FOLDER##*/}-$1
  local -a files
  if is_own_folder "$shared"; then
    remove_trees "$shared"
  fi
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  : >"$PSL_NODE_FOLDER/$1.ended"
  files=("$PSL_NODE_FOLDER"/*)
  for file in "${files[@]}"; do
    # A control FIFO of a running slot.
    if [[ -p $file && ${file##*/} != *.*.* && ! -e $file.ended ]]; then
      return 0
    fi
  done
  remove_trees "/dev/shm/${PSL_NODE_FOLDER##*/}-ranks"  # only: contained-ranks
  remove_trees "${files[@]}"
  command -p rmdir -- "$PSL_NODE_FOLDER"
} 2>/dev/null

# has_reader FIFO: succeed if a shell reads this control FIFO, or will.
has_reader() { [[ -p $1 && ! -e $1.ended ]] && is_own_folder "${1%/*}"; }

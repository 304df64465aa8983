# Read messages from the control FIFO of a slot.
#
# Each slot has a control FIFO in the node folder, and the slot's shell reads it while it waits for
# what it runs. The messages are the ends of commands and ranks, and calls.

# check_node_folder: fail unless the node folder is this user's own.
# Who can write to a control FIFO can run commands as this user, so no FIFO in another user's
# folder is read or written.
check_node_folder() {
  if [[ -d $PSL_NODE_FOLDER ]] && is_own_folder "$PSL_NODE_FOLDER"; then
    return 0
  fi
  log "error: the folder for calls, $PSL_NODE_FOLDER on $SLURMD_NODENAME," \
    "is gone or another user's: nothing runs beside it"
  return 1
}

# open_control_fifo NAME: open a control FIFO as PSL_CONTROL_FD.
# A shell whose FIFO is missing gets a pipe without a name: only its own commands write to that.
open_control_fifo() {
  if [[ -p $PSL_NODE_FOLDER/$1 ]] && is_own_folder "$PSL_NODE_FOLDER"; then
    exec {PSL_CONTROL_FD}<>"$PSL_NODE_FOLDER/$1"
  else
    exec {PSL_CONTROL_FD}<> <(:)
  fi
  trap 'PSL_STOPPED=1; printf "stop\n" >&"$PSL_CONTROL_FD"' TERM
}

# handle_control_message: do what a message from the control FIFO, now in PSL_WORDS, asks for.
handle_control_message() {
  local folder
  case ${#PSL_WORDS[@]}:${PSL_WORDS[0]-} in
    3:end)
      [[ "${PSL_WORDS[1]}${PSL_WORDS[2]}" =~ ^[0-9]+$ ]] || return
      PSL_EXIT_BY_PID[${PSL_WORDS[1]}]=${PSL_WORDS[2]}
      if [[ $PSL_RANKS_RUN ]]; then
        on_end_of_rank "${PSL_WORDS[2]}"
      fi
      ;;
    1:stop) PSL_STOPPED=1 ;;
    3:rank)
      if [[ $PSL_RANKS != 1 && "${PSL_WORDS[1]}${PSL_WORDS[2]}" =~ ^[0-9]+$ ]]; then
        on_start_of_rank "${PSL_WORDS[@]:1}"
      fi
      ;;
    2:call)
      folder=$PSL_NODE_FOLDER/${PSL_WORDS[1]}
      if [[ ${PSL_WORDS[1]} != */* && -d $folder ]]; then
        serve_call "$folder" {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- &
      fi
      ;;
    4:size) set_size "${PSL_WORDS[@]:1}" ;;
  esac
}

# close_control_fifo NAME: note that nobody reads this FIFO any more.
# The last slot of a node that does so removes the node folder.
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
    # This is the control FIFO of a slot that still runs.
    if [[ -p $file && ${file##*/} != *.*.* && ! -e $file.ended ]]; then
      return 0
    fi
  done
  remove_trees "${files[@]}"
  command -p rmdir -- "$PSL_NODE_FOLDER"
} 2>/dev/null

# has_reader FIFO: tell whether a shell reads this control FIFO, or will.
has_reader() { [[ -p $1 && ! -e $1.ended ]] && is_own_folder "${1%/*}"; }

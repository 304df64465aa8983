# Bells: each slot has a named pipe on its node, which its shell reads while it waits for what it runs. By it come the ends
# of commands and ranks, and calls.

# make_control_fifos NAME ...: all at once, below CALLS.
make_control_fifos() {
  mkdir -m 0700 -- "$PSL_NODE_FOLDER" 2>/dev/null
  check_node_folder || return
  if [[ $PSL_HOST_SUFFIX ]]; then
    set -- "$@" "${@/%/$PSL_HOST_SUFFIX}"
  fi
  # On one machine all components are one node, and each of their steps makes all of them.
  mkfifo -m 0600 -- "${@/#/$PSL_NODE_FOLDER/}" 2>/dev/null
  local name
  for name; do [[ -p $PSL_NODE_FOLDER/$name ]] || { log "error: cannot make $PSL_NODE_FOLDER/$name on $SLURMD_NODENAME"; return 1; }; done
  # The last one of others may have removed the folder in between, and somebody else made one of that name.
  check_node_folder
}

# Who can write to the folder of the bells can run commands as this user: nothing is read or written in another's.
check_node_folder() {
  [[ -d $PSL_NODE_FOLDER ]] && is_own_folder "$PSL_NODE_FOLDER" && return
  log "error: the folder for calls, $PSL_NODE_FOLDER on $SLURMD_NODENAME, is gone or another user's: nothing runs beside it"
  return 1
}

# open_control_fifo NAME: in BELL; a shell without one, in a pipe that has no name, hears only the end of what it runs.
open_control_fifo() {
  if [[ -p $PSL_NODE_FOLDER/$1 ]] && is_own_folder "$PSL_NODE_FOLDER"; then exec {PSL_CONTROL_FD}<>"$PSL_NODE_FOLDER/$1"; else exec {PSL_CONTROL_FD}<> <(:); fi
  trap 'PSL_STOPPED=1; printf "stop\n" >&"$PSL_CONTROL_FD"' TERM
}

# What the bell says, in WORDS.
handle_control_message() {
  case ${#PSL_WORDS[@]}:${PSL_WORDS[0]-} in
    3:end)
      [[ "${PSL_WORDS[1]}${PSL_WORDS[2]}" =~ ^[0-9]+$ ]] || return
      PSL_EXIT_BY_PID[${PSL_WORDS[1]}]=${PSL_WORDS[2]}
      if [[ $PSL_RANKS_RUN ]]; then
        on_end_of_rank "${PSL_WORDS[2]}"
      fi
      ;;
    1:stop) PSL_STOPPED=1 ;;
    3:rank) [[ $PSL_RANKS == 1 || ! "${PSL_WORDS[1]}${PSL_WORDS[2]}" =~ ^[0-9]+$ ]] || on_start_of_rank "${PSL_WORDS[@]:1}" ;;
    2:call) [[ ${PSL_WORDS[1]} == */* || ! -d $PSL_NODE_FOLDER/${PSL_WORDS[1]} ]] || serve_call "$PSL_NODE_FOLDER/${PSL_WORDS[1]}" {PSL_REPORT_FD}>&- {PSL_CONTROL_FD}>&- & ;;
    4:size) set_size "${PSL_WORDS[@]:1}" ;;
  esac
}

# close_control_fifo NAME: nobody hears it any more. The last one that a node has removes them all.
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
    [[ ! -p $file || ${file##*/} == *.*.* || -e $file.ended ]] || return 0
  done
  remove_trees "${files[@]}"
  command -p rmdir -- "$PSL_NODE_FOLDER"
} 2>/dev/null

# Tell whether somebody hears a bell, or will.
has_reader() { [[ -p $1 && ! -e $1.ended ]] && is_own_folder "${1%/*}"; }

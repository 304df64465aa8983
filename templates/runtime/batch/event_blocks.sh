# Read the events of many tasks in blocks: to read a line takes bash a system call a byte.

# After how many events in a row they are read in blocks, which takes a process.
readonly PSL_EVENTS_BEFORE_BLOCK=50

# read_block_of_events: read what the channel has, 64 KiB at most, by one process, and act on it.
# Something must be there. A block may end within a line.
read_block_of_events() {
  local text rest=''
  text=$(dd bs=65536 count=1 2>/dev/null <&"$PSL_EVENT_FD" && printf 'x')
  text=${text%x}
  if [[ $text && $text != *$'\n' ]]; then
    IFS= read -r rest <&"$PSL_EVENT_FD"
  fi
  split_words $'\n' "$text$rest"
  dispatch_lines ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}
}

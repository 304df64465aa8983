# Read the events of many tasks in blocks: reading a line takes bash one system call per byte.

# Number of consecutive events after which a process reads them in blocks.
readonly PSL_EVENTS_BEFORE_BLOCK=50

# read_block_of_events: read up to 64 KiB of the channel with one process, and act on the events.
# The channel must not be empty. A block may end within a line.
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

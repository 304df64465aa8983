# Messages, time, and small tools that every part uses.

say() { printf 'paislurm: %s\n' "$*" >&2; }

# The time in whole seconds since 1970, in NOW; no process is started for it.
read_clock() { printf -v NOW '%(%s)T' -1; }

# Print standard input without starting a process.
emit() {
  local text
  IFS= read -r -d '' text || true
  printf '%s' "$text"
}

# Quote $1 for a shell, in QUOTED.
quote() {
  local apostrophe="'"
  QUOTED="'${1//$apostrophe/$apostrophe\\$apostrophe$apostrophe}'"
}

# Make folders, some hundreds for each process; the umask keeps them private.
make_folders() {
  while (($#)); do
    mkdir -p -- "${@:1:500}" || return
    shift $(($# < 500 ? $# : 500))
  done
}

# Read a line of a channel, as words in WORDS; wait for it one second at most. When the time is up in the middle of a
# line, the rest of it is there, because a line is one write.
read_words() {
  local line='' rest=''
  if ! IFS= read -r -t 1 line <&"$1"; then
    [[ $line ]] || return
    IFS= read -r rest <&"$1"
  fi
  read -ra WORDS <<<"$line$rest"
}

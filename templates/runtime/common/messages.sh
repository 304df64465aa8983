# Provide messages, time, and small tools that every part uses.

# log WORD ...: print a message of paislurm, and keep it in PSL_LAST_MESSAGE.
log() {
  PSL_LAST_MESSAGE=$*
  printf 'paislurm: %s\n' "$*" >&2
}

# Put the time, in whole seconds since 1970, into PSL_NOW. This starts no process.
read_clock() { printf -v PSL_NOW '%(%s)T' -1; }

# Print standard input without starting a process.
cat_stdin() {
  local text
  IFS= read -r -d '' text || true
  printf '%s' "$text"
}

# quote TEXT: quote a text for a shell, in PSL_QUOTED.
quote() {
  local apostrophe="'"
  PSL_QUOTED="'${1//$apostrophe/$apostrophe\\$apostrophe$apostrophe}'"
}

# nodes_of ROLE: put the nodes of the role's slots into PSL_NODES. `read` would be slower: from a
# here-document it takes one byte at a time.
nodes_of() {
  # shellcheck disable=SC2206 # names of nodes have no more to them than words
  PSL_NODES=(${PSL_NODES_OF[$1]})
}

# is_own_folder PATH: tell whether a folder, or what is in one, belongs to this user and is no link
# to somewhere else. Anybody can make folders in /tmp.
is_own_folder() { [[ -O $1 && ! -L $1 ]]; }

# read_words FD: read a line of a pipe, as words in PSL_WORDS, and wait one second at most. Writers
# write a line at once: if a part of a line is there, the rest is, too. Bash takes three times as
# long to read with a time limit as without, so a line that is there already is read without.
read_words() {
  local line='' rest=''
  if read -r -t 0 <&"$1"; then
    IFS= read -r line <&"$1"
  elif ! IFS= read -r -t 1 line <&"$1"; then
    [[ $line ]] || return
    IFS= read -r rest <&"$1"
  fi
  read -ra PSL_WORDS <<<"$line$rest"
}

# split_words SEPARATORS TEXT: split a text into PSL_WORDS, without taking a word for a pattern.
split_words() {
  local IFS=$1
  set -f
  # shellcheck disable=SC2206 # it is to be split
  PSL_WORDS=($2)
  set +f
}

# remove_trees PATH ...: remove files and folders. Folders from images may be write-protected. Use
# the system's programs, not those of the same name that come first on the user's PATH.
remove_trees() {
  command -p rm -rf -- "$@" 2>/dev/null && return
  command -p chmod -R u+rwX -- "$@" 2>/dev/null
  command -p rm -rf -- "$@" 2>/dev/null
}

# open_attempt FOLDER ATTEMPT: read what the batch script has written about the job, for the other
# parts of the job.
open_attempt() {
  PSL_FOLDER=$1 PSL_ATTEMPT=$2 PSL_ATTEMPT_FOLDER=$1/attempts/$2
  PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
  # shellcheck source=/dev/null # written by write_placement
  source "$PSL_ATTEMPT_FOLDER/placement.sh"
}

# wait_for_process PROCESS: wait for a child to its end, and return its status. A signal can end the
# builtin `wait` before, so wait again.
wait_for_process() {
  local status
  wait "$1"
  status=$?
  while ((status > 128)) && kill -0 "$1" 2>/dev/null; do
    wait "$1"
    status=$?
  done
  return "$status"
}

# Provide messages, time, and small tools that every part uses.

# log WORD ...: print a message, and keep it in PSL_LAST_MESSAGE.
log() {
  PSL_LAST_MESSAGE=$*
  printf 'paislurm: %s\n' "$*" >&2
}

# read_clock: set PSL_NOW to the time in seconds since 1970, without starting a process.
read_clock() { printf -v PSL_NOW '%(%s)T' -1; }

# read_uptime: set PSL_UPTIME to the milliseconds since the node started, without a process. Bash
# before 5 has no other clock that is finer than a second.
read_uptime() {
  read -r PSL_UPTIME _ </proc/uptime
  PSL_UPTIME=$((10#${PSL_UPTIME/./} * 10))
}

# cat_stdin: print standard input without starting a process.
cat_stdin() {
  local text
  IFS= read -r -d '' text || true
  printf '%s' "$text"
}

# quote TEXT: set PSL_QUOTED to a text quoted for a shell.
quote() {
  local apostrophe="'"
  PSL_QUOTED="'${1//$apostrophe/$apostrophe\\$apostrophe$apostrophe}'"
}

# nodes_of ROLE: set PSL_NODES to the nodes of the role's slots. `read` would be slower: it reads a
# here-document byte by byte.
nodes_of() {
  # shellcheck disable=SC2206 # names of nodes have no more to them than words
  PSL_NODES=(${PSL_NODES_OF[$1]})
}

# is_own_folder PATH: succeed if this user owns a file or folder that is no link. Any user can make
# folders in /tmp.
is_own_folder() { [[ -O $1 && ! -L $1 ]]; }

# send FD WORD ...: write a message to a pipe, in a single write, for read_words.
send() { printf ' %s\n' "${*:2}" >&"$1"; }

# read_words FD [SECONDS]: read a message of a pipe into the words PSL_WORDS; wait one second at
# most, or SECONDS. A `read` whose time is over can lose the byte that it has just read, so with a
# time limit only one byte is read: a message begins with a blank. The rest never takes long.
# Source: runs of bash 5.2 on busy nodes.
read_words() {
  local line='' first=''
  if ! read -r -t 0 <&"$1"; then
    IFS= read -r -N 1 -t "${2:-1}" first <&"$1"
    [[ ${first# } ]] || read -r -t 0 <&"$1" || return
  fi
  IFS= read -r line <&"$1"
  read -ra PSL_WORDS <<<"$first$line"
}

# split_words SEPARATORS TEXT: split a text into PSL_WORDS, without expanding patterns.
split_words() {
  local IFS=$1
  set -f
  # shellcheck disable=SC2206 # it is to be split
  PSL_WORDS=($2)
  set +f
}

# remove_trees PATH ...: remove files and folders. Folders from images may be write-protected. Use
# the system's programs, not others of the same name on the user's PATH.
remove_trees() {
  command -p rm -rf -- "$@" 2>/dev/null && return
  command -p chmod -R u+rwX -- "$@" 2>/dev/null
  command -p rm -rf -- "$@" 2>/dev/null
}

# open_attempt FOLDER ATTEMPT: read the placement that the batch script has written.
open_attempt() {
  PSL_FOLDER=$1 PSL_ATTEMPT=$2 PSL_ATTEMPT_FOLDER=$1/attempts/$2
  PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
  # shellcheck source=/dev/null # written by write_placement
  source "$PSL_ATTEMPT_FOLDER/placement.sh"
}

# wait_for_process PROCESS: wait for a child, and return its status. A signal can interrupt the
# builtin `wait`, so repeat it.
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

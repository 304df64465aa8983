# Messages, time, and small tools that every part uses.

log() { printf 'paislurm: %s\n' "$*" >&2; }

# The time in whole seconds since 1970, in NOW; no process is started for it.
read_clock() { printf -v PSL_NOW '%(%s)T' -1; }

# Print standard input without starting a process.
cat_stdin() {
  local text
  IFS= read -r -d '' text || true
  printf '%s' "$text"
}

# Quote $1 for a shell, in PSL_QUOTED.
quote() {
  local apostrophe="'"
  PSL_QUOTED="'${1//$apostrophe/$apostrophe\\$apostrophe$apostrophe}'"
}

# nodes_of ROLE: those of its slots, in NODES. From a here-document `read` would take one byte at a time.
nodes_of() {
  # shellcheck disable=SC2206 # names of nodes have no more to them than words
  PSL_NODES=(${PSL_NODES_OF[$1]})
}

# is_own_folder PATH: a folder, or what stands in one, is nobody else's, and no link to somewhere else. /tmp is everybody's.
is_own_folder() { [[ -O $1 && ! -L $1 ]]; }

# is_own_part FOLDER: the user's own part of a place that users share, be it by a link that the user or root has made.
is_own_part() {
  local owner user
  [[ -O $1 ]] || return
  [[ -L $1 ]] || return 0
  owner=$(stat -c %u -- "$1") && user=$(id -u) && [[ $owner == 0 || $owner == "$user" ]]
}

# Make folders, some hundreds for each process; the umask keeps them private.
make_folders() {
  while (($#)); do
    mkdir -p -- "${@:1:500}" || return
    shift $(($# < 500 ? $# : 500))
  done
}

# Read a line of a channel, as words in WORDS; wait for it one second at most. A line is one write: where some of it is,
# the rest is, too. To read with a time limit takes bash three times as long as to read.
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

# Remove files and folders. Those of images may have no right to be written to. Of programs, none of the user's that stands
# first on the PATH.
remove_trees() {
  command -p rm -rf -- "$@" 2>/dev/null || { command -p chmod -R u+rwX -- "$@"; command -p rm -rf -- "$@"; } 2>/dev/null
}

# open_attempt FOLDER ATTEMPT: for a part of the job that is not the batch script.
open_attempt() {
  PSL_FOLDER=$1 PSL_ATTEMPT=$2 PSL_ATTEMPT_FOLDER=$1/attempts/$2
  PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
  # shellcheck source=/dev/null # written by write_placement
  source "$PSL_ATTEMPT_FOLDER/placement.sh"
}

# Wait for a child to its end: a signal ends a wait before. The status is the child's unless a signal came.
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

# Break a task of a job on purpose, for `paislurm rehearse`.
#
# In a task, bash -c TEXT FAULT breaks the commands of this task. On a node, bash -c TEXT node NODE FOLDER kills all on
# NODE that runs for the job of this folder. Both print `broken`, or why they cannot break it.

# find_processes: set processes to those of this task, or to those of the job on this node, without those of this call.
# Job numbers do not suffice for these where a machine stands for nodes of several clusters.
find_processes() {
  local file process group mark=PAISLURM_CONTROL=${PAISLURM_CONTROL-} other
  other=$mark
  if [[ $0 == node ]]; then
    mark=$folder other=SLURMD_NODENAME=$SLURMD_NODENAME
  fi
  processes=()
  read_group $$
  group=$found
  while read -r file; do
    process=${file#/proc/} process=${process%/*}
    if read_group "$process" && ((found != group)) && LC_ALL=C grep -qzxF -- "$other" "/proc/$process/environ"; then
      processes[process]=$process
    fi
  done < <(
    LC_ALL=C grep -lzxF -- "$mark" /proc/[0-9]*/environ /proc/[0-9]*/cmdline
    LC_ALL=C grep -lzF -- "$mark/" /proc/[0-9]*/environ
  )
  ((${#processes[@]}))
} 2>/dev/null

# read_group PROCESS: set found to the process group.
read_group() {
  local line
  read -r line <"/proc/$1/stat" || return
  read -r _ _ found _ <<<"${line##*) }"
}

# stop_all: stop the processes, also those that they start meanwhile.
stop_all() {
  for _ in 1 2 3; do
    find_processes && kill -STOP "${processes[@]}"
  done
} 2>/dev/null

# kill_all: kill the processes. They are stopped before, so that none acts on the death of another, and no process of
# the runtime that comes after them is killed.
kill_all() {
  stop_all
  kill -KILL "${processes[@]}"
} 2>/dev/null

if [[ $0 == node ]]; then
  if [[ $SLURMD_NODENAME == "$1" ]]; then
    folder=$2
    echo broken
    kill_all
  fi
elif ! find_processes; then
  echo "no process of its commands is found"
else
  case $0 in
    kill) echo broken && kill_all ;;
    stall) echo broken && stop_all ;;
  esac
fi

# Break a task of a job on purpose, for `paislurm rehearse`.
#
# In a task, bash -c TEXT FAULT [BYTES] breaks the commands of this task; BYTES is for the fault `disk`. On a node,
# bash -c TEXT node NODE FOLDER kills all on NODE that runs for the job of this folder. Both print `broken`, or why they
# cannot break it.

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

# read_memory_limit: set limit to the bytes that Slurm's control groups of this task permit, '' for any number. A mount
# may show only part of a tree, so try each with each group.
read_memory_limit() {
  local root point rest folder file bytes
  limit=''
  while read -r _ _ _ root point rest; do
    [[ $rest == *' - cgroup'* ]] || continue
    while IFS=: read -r _ _ folder; do
      folder=${folder#"${root%/}"}
      while [[ $folder == */job_* ]]; do
        for file in memory.limit_in_bytes memory.max; do
          if read -r bytes <"$point$folder/$file" && [[ $bytes =~ ^[0-9]{1,15}$ ]]; then
            limit=$((!limit || bytes < limit ? bytes : limit))
          fi
        done
        folder=${folder%/*}
      done
    done </proc/self/cgroup
  done </proc/self/mountinfo
} 2>/dev/null

# fill_memory: use memory until the kernel kills a process of the commands. It prefers them to this call.
fill_memory() {
  local limit available process
  read_memory_limit
  read -r _ available _ < <(grep MemAvailable /proc/meminfo)
  if [[ ! $limit ]]; then
    echo "Slurm does not limit the memory of the task by a control group that it can see"
  elif ((limit / 1024 > available)); then
    echo "its limit of $((limit >> 20)) MiB is more than the free memory of the node"
  else
    echo broken
    for process in "${processes[@]}"; do
      echo 1000 >"/proc/$process/oom_score_adj"
    done
    head -c "$limit" /dev/zero | tail >/dev/null
  fi
}

# limit_files BYTES: let no process of the commands write a file beyond this size.
limit_files() {
  local process
  if ! command -v prlimit >/dev/null; then
    echo "the task has no program prlimit (util-linux)"
    return
  fi
  echo broken
  for _ in 1 2 3; do
    for process in "${processes[@]}"; do
      prlimit --pid "$process" --fsize="$1" 2>/dev/null
    done
    find_processes
  done
}

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
    memory) fill_memory ;;
    disk) limit_files "$1" ;;
  esac
fi

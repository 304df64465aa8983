# Look up the OpenPAI exit code of a task that failed.
#
# Source: OpenPAI exit specification; the first rule that matches wins.

# print_exit STATUS ROLE STDOUT STDERR: print "CODE BEHAVIOUR" of a task that failed with STATUS.
# STDOUT and STDERR are its logs. The failed task starts a bash for this: few tasks fail, and the
# others need not read it.
print_exit() {
  local status=$1 rule code behaviour wanted pattern
  PSL_ROLE=$2 PSL_STDOUT_LOG=$3 PSL_STDERR_LOG=$4
  if ((status == 137)) && killed_for_memory; then
    printf '%s\n' '-1200 permanent'
    return
  fi
  for rule in "${PSL_EXIT_RULES[@]}"; do
    read -r code behaviour wanted pattern <<<"$rule"
    case $wanted in
      any) ;;
      ecc) has_ecc_error || continue ;;
      *) ((wanted == status)) || continue ;;
    esac
    if [[ -z $pattern ]] || log_matches "$pattern"; then
      printf '%s %s\n' "$code" "$behaviour"
      return
    fi
  done
  printf '%s\n' '255 unknown'
}

# log_matches PATTERN: tell whether the last 10 MB of what the commands printed match.
# The first search is for all patterns together: mostly none matches, and that search says so.
log_matches() {
  local rule pattern every=''
  if [[ ! ${PSL_ANY_PATTERN_MATCHES-} ]]; then
    for rule in "${PSL_EXIT_RULES[@]}"; do
      read -r _ _ _ pattern <<<"$rule"
      every+=${pattern:+${every:+|}$pattern}
    done
    PSL_ANY_PATTERN_MATCHES=no
    if search_logs "$every"; then
      PSL_ANY_PATTERN_MATCHES=yes
    fi
  fi
  [[ $PSL_ANY_PATTERN_MATCHES == yes ]] && search_logs "$1"
}

# search_logs PATTERN: search the logs of the commands.
# The runtime's own lines are among those of the commands, and name jobs and paths: leave them out.
search_logs() {
  tail -q -c 10485760 -- "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG" 2>/dev/null |
    LC_ALL=C sed '/^paislurm: /d' |
    LC_ALL=C grep -aqiE -- "$1"
}

# killed_for_memory: tell whether the kernel has killed a process of the task for want of memory.
# The task's memory cgroup counts such kills.
killed_for_memory() {
  local _ controllers path='' unified='' type='cgroup ' file=memory.oom_control
  local root point rest top='' folder=''
  while IFS=: read -r _ controllers rest; do
    case ,$controllers, in
      *,memory,*) path=$rest ;;
      ,,) unified=$rest ;;
    esac
  done </proc/self/cgroup
  if [[ ! $path ]]; then
    path=$unified type='cgroup2 ' file=memory.events
  fi
  # In a container or a namespace only a part of the tree is mounted. Of several mounts the last
  # one is the one that is seen.
  while read -r _ _ _ root point rest; do
    case ${rest##* - },$type in
      'cgroup '*memory*,'cgroup ' | 'cgroup2 '*,'cgroup2 ')
        top=$point folder=$point/${path#"${root%/}"}
        ;;
    esac
  done </proc/self/mountinfo
  while [[ ${#folder} -gt ${#top} && ! -e $folder/$file ]]; do
    folder=${folder%/*}
  done
  grep -qsE '^oom_kill [1-9]' "$folder/$file"
}

# has_ecc_error: tell whether a GPU had an uncorrectable memory error since its driver was loaded.
# Only a task that has GPUs asks. GPUs before Turing print these errors below a heading of their
# own. Source: nvidia-smi(1), ECC Errors.
has_ecc_error() {
  ((PSL_ROLE_GPUS[PSL_ROLE] > 0)) && command -v nvidia-smi >/dev/null &&
    timeout 1 nvidia-smi -q -d ECC 2>/dev/null |
    sed -nE '/Volatile/,/Aggregate/{ /Double Bit/,/Single Bit|Aggregate/s/^/double bit/; p; }' |
    grep -qiE '(double bit|dram uncorrectable|sram uncorrectable).*: *[1-9]'
}

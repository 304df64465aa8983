# Look up the OpenPAI exit code of a task that failed.
#
# Source: OpenPAI exit specification; the first rule that matches wins.

# print_exit STATUS ROLE STDOUT STDERR: print "CODE BEHAVIOUR" of a task that failed with STATUS.
# STDOUT and STDERR are its logs. A failed task starts a bash for this, so that other tasks need not
# read this part.
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
      ecc)
        if ((!PSL_ROLE_GPUS[PSL_ROLE])) || ! has_ecc_error; then
          continue
        fi
        ;;
      *) ((wanted == status)) || continue ;;
    esac
    if [[ -z $pattern ]] || log_matches "$pattern"; then
      # OpenPAI's handler crashes on a match that ends in a carriage return before the newline, and
      # the failure is then unexplained.
      if [[ $pattern == *'.*' ]] && search_logs -m 1 "$pattern" | tail -c 2 | grep -q $'\r'; then
        break
      fi
      printf '%s %s\n' "$code" "$behaviour"
      return
    fi
  done
  printf '%s\n' '255 unknown'
}

# log_matches PATTERN: succeed if the last 10 MB of the commands' output match. Search first for all
# patterns together, because usually none matches.
log_matches() {
  local rule pattern every=''
  if [[ ! ${PSL_ANY_PATTERN_MATCHES-} ]]; then
    for rule in "${PSL_EXIT_RULES[@]}"; do
      read -r _ _ _ pattern <<<"$rule"
      every+=${pattern:+${every:+|}$pattern}
    done
    PSL_ANY_PATTERN_MATCHES=no
    if search_logs -q "$every"; then
      PSL_ANY_PATTERN_MATCHES=yes
    fi
  fi
  [[ $PSL_ANY_PATTERN_MATCHES == yes ]] && search_logs -q "$1"
}

# search_logs OPTION ... PATTERN: search the logs of the commands with grep. Skip the messages about
# hooks, which are among the lines of the commands and contain names and paths.
search_logs() {
  tail -q -c 10485760 -- "$PSL_STDOUT_LOG" "$PSL_STDERR_LOG" 2>/dev/null |
    LC_ALL=C sed '/^paislurm: .* with status [0-9]* ([a-z]*)[,;] wh/d' |
    LC_ALL=C grep -aiE "${@:1:$#-1}" -e "${@: -1}"
}

# killed_for_memory: succeed if the kernel has killed a process of the task because memory ran out.
killed_for_memory() {
  count_memory_kills
  ((PSL_MEMORY_KILLS))
}

# count_memory_kills: set PSL_MEMORY_KILLS to the number of such processes, and PSL_MEMORY_PEAK to
# the most bytes that the task used, as its memory cgroup counts them.
count_memory_kills() {
  local _ controllers path='' unified='' type='cgroup ' file=memory.oom_control
  local peak=memory.max_usage_in_bytes
  local root point rest top='' folder=''
  while IFS=: read -r _ controllers rest; do
    case ,$controllers, in
      *,memory,*) path=$rest ;;
      ,,) unified=$rest ;;
    esac
  done <"${PSL_PROC:-/proc}/self/cgroup"
  if [[ ! $path ]]; then
    path=$unified type='cgroup2 ' file=memory.events peak=memory.peak
  fi
  # In a container or a namespace only part of the tree is mounted. The last of several mounts is
  # visible.
  while read -r _ _ _ root point rest; do
    case ${rest##* - },$type in
      'cgroup '*memory*,'cgroup ' | 'cgroup2 '*,'cgroup2 ')
        top=$point folder=$point/${path#"${root%/}"}
        ;;
    esac
  done <"${PSL_PROC:-/proc}/self/mountinfo"
  while [[ ${#folder} -gt ${#top} && ! -e $folder/$file ]]; do
    folder=${folder%/*}
  done
  PSL_MEMORY_KILLS=$(sed -nE 's/^oom_kill ([0-9]+)$/\1/p' "$folder/$file" 2>/dev/null)
  PSL_MEMORY_PEAK=$(cat "$folder/$peak" 2>/dev/null)
}

# Take a step of the monitor at the end of an attempt: the site forbids processes on login nodes.

# Seconds after which a step is given up; the nodes of the job wait for it.
readonly PSL_MONITOR_SECONDS=60

# Tell whether the attempt has ended in a way after which the monitor may have something to do.
# After an end from outside it has not: Slurm does not say why before this job is gone.
needs_monitor_step() {
  [[ $PSL_ENTERED && -e ../../monitor-call ]] || return
  case $PSL_OUTCOME in
    failed | requeued) return 0 ;;
    succeeded) [[ $PSL_MONITOR_AFTER == end ]] ;;
    *) return 1 ;;
  esac
}

# Take the step, which may submit the next attempt. The path is relative, because another job may
# have the run folder's name by now; then the step has nothing to do.
take_monitor_step() {
  local word status
  local -a words=()
  while IFS= read -r -d '' word; do
    words+=("$word")
  done <../../monitor-call
  start_monitor ${words[@]+"${words[@]}"} "${PSL_FOLDER##*/}" </dev/null
  status=$?
  case $status in
    0) ;;
    126 | 127) leave_to_cron "cannot be started on this node" ;;
    137) leave_to_cron "was ended" ;;
    *) leave_to_cron "ended with status $status" ;;
  esac
}

# leave_to_cron WORDS: say who takes the next step.
leave_to_cron() { log "the monitor $1: cron or scrontab does what is left"; }

# start_monitor WORD ...: run a command in a shell of its own, without the settings of this job,
# which sbatch would take for its own; SLURM_CONF says where the cluster is. TERM is ignored here,
# so only KILL ends what takes too long.
start_monitor() {
  local name
  (
    for name in "${!SLURM_@}" "${!SLURMD_@}"; do
      [[ $name == SLURM_CONF ]] || unset "$name"
    done
    cd / && exec timeout --signal=KILL "$PSL_MONITOR_SECONDS" /usr/bin/env "$@"
  )
}

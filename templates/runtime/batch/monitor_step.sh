# Run the monitor once at the end of an attempt: the site forbids processes on login nodes.

# Time limit of the monitor run in seconds; the nodes of the job wait for it.
readonly PSL_MONITOR_SECONDS=60

# needs_monitor_step: succeed if the monitor may have work after this end of the attempt. If Slurm
# ended the job, it has none yet: Slurm reports the reason only when this job is gone.
needs_monitor_step() {
  [[ $PSL_ENTERED && -e ../../monitor-call ]] || return
  case $PSL_OUTCOME in
    failed | requeued) return 0 ;;
    succeeded) [[ $PSL_MONITOR_AFTER == end ]] ;;
    *) return 1 ;;
  esac
}

# take_monitor_step: run the monitor, which may submit the next attempt. The path is relative,
# because another job may have the run folder's name by now; then the monitor does nothing.
take_monitor_step() {
  local word status
  local -a words=()
  needs_monitor_step || return
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

# leave_to_cron WORDS: log that cron or scrontab must run the monitor.
leave_to_cron() { log "the monitor $1: cron or scrontab must do the rest"; }

# start_monitor WORD ...: run a command in a new shell without the variables of this job, which
# sbatch would obey. Keep SLURM_CONF, which names the cluster. The script ignores TERM now, so only
# KILL ends a command that takes too long.
start_monitor() {
  local name
  (
    for name in "${!SLURM_@}" "${!SLURMD_@}"; do
      [[ $name == SLURM_CONF ]] || unset "$name"
    done
    cd / && exec timeout --signal=KILL "$PSL_MONITOR_SECONDS" /usr/bin/env "$@"
  )
}

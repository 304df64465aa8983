# End the job where a step before those of the tasks cannot be launched.

# check_step_began NAME COMPONENT STATUS: a step before those of the tasks has ended so. If it never
# began, end the job.
check_step_began() {
  explain_launch "srun/$1-$2.log" "$3" || return 0
  # The failure may come from the end of the whole job, of which a signal tells later.
  if [[ $PSL_LAUNCH_FAILURE == -1402* ]]; then
    run_interruptibly sleep "$PSL_PROVISIONAL_SECONDS"
  fi
  end_by_failed_launch "step $1" "$PSL_LAUNCH_FAILURE" "$PSL_LAUNCH_NODE" "$PSL_LAUNCH_WORDS"
  die "$PSL_OUTCOME_REASON"
}

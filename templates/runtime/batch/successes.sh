# Complete the job after a number of successful tasks, if the job file sets one.

# The number of successful tasks of all roles.
PSL_SUCCEEDED_OF_JOB=0

# note_success ROLE TASK: note when a success reaches a threshold.
note_success() {
  if ((PSL_SUCCEEDED[$1] == PSL_MIN_SUCCEEDED[$1])); then
    PSL_REACHED[2 * $1 + 1]="${PSL_ENDED[$2]} C3 $2"
  fi
  PSL_SUCCEEDED_OF_JOB=$((PSL_SUCCEEDED_OF_JOB + 1))
  if ((PSL_SUCCEEDED_OF_JOB == PSL_MIN_SUCCEEDED_OF_JOB)); then
    PSL_REACHED[2 * ${#PSL_ROLE_NAME[@]}]="${PSL_ENDED[$2]} C3_of_job $2"
  fi
}

# complete_by_C3 ROLE INDEX: complete the job: the successful tasks of a role have reached the
# threshold.
complete_by_C3() {
  local role=$1 index=$2 name=${PSL_ROLE_NAME[$1]}
  describe_threshold "${PSL_MIN_SUCCEEDED[role]}" succeeded "role $name" complete
  PSL_TRIGGER="C3 $role $index ${PSL_MIN_SUCCEEDED[role]}"
  decide succeeded 0 success "task $name-$index succeeded: $PSL_THRESHOLD"
}

# complete_by_C3_of_job ROLE INDEX: complete the job: the successful tasks of all roles have reached
# the threshold.
complete_by_C3_of_job() {
  describe_threshold "$PSL_MIN_SUCCEEDED_OF_JOB" succeeded 'all roles' complete
  PSL_TRIGGER="C3 $1 $2 $PSL_MIN_SUCCEEDED_OF_JOB"
  decide succeeded 0 success "task ${PSL_ROLE_NAME[$1]}-$2 succeeded: $PSL_THRESHOLD"
}

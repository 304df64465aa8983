# Write the hooks of a job, and explain a failure by the hook that failed.

# "ATTEMPT MOMENT KIND NAME" of the hook that failed, by task.
declare -A PSL_FAILED_IN=()

# is_failed_hook ROLE SLOT INDEX ATTEMPT MOMENT KIND NAME: succeed if the words are such a report.
is_failed_hook() {
  are_numbers "${@:1:4}" && [[ $5$6 != *[!a-z]* && $7 != *[!A-Za-z0-9_-]* ]]
}

# explain_failed_hook TASK: set PSL_EXPLANATION to the hook that failed the task, in this attempt.
explain_failed_hook() {
  local task=$1 attempt moment kind name
  read -r attempt moment kind name <<<"${PSL_FAILED_IN[$task]-}"
  case $attempt.$moment in
    "${PSL_ATTEMPTS[$task]}.start") PSL_EXPLANATION=" in the $kind $name, before its commands" ;;
    "${PSL_ATTEMPTS[$task]}.success")
      PSL_EXPLANATION=" in the $kind $name, after its commands succeeded"
      ;;
  esac
}

# write_hooks ROLE: write each hook of a role to a file beside the caller's `file`.
write_hooks() {
  local role=$1 word moment number
  for word in ${PSL_HOOKS_BEFORE[role]-} ${PSL_HOOKS_AFTER[role]-}; do
    IFS=. read -r moment number _ <<<"$word"
    "${moment}_${number}_of_role_$role" >"$file.$moment.$number.sh" || return
  done
}

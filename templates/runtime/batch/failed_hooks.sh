# Explain a failure by the hook that failed.

# explain_failed_hook TASK: set PSL_EXPLANATION to the hook that failed the task, in this attempt.
explain_failed_hook() {
  local task=$1 attempt moment kind name
  read -r attempt moment kind name <<<"${PSL_FAILED_IN[$task]}"
  case $attempt.$moment in
    "${PSL_ATTEMPTS[$task]}.start") PSL_EXPLANATION=" in the $kind $name, before its commands" ;;
    "${PSL_ATTEMPTS[$task]}.success")
      PSL_EXPLANATION=" in the $kind $name, after its commands succeeded"
      ;;
  esac
}

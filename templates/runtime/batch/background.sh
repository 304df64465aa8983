# Settle the results of tasks whose commands have succeeded while background processes run.
#
# For the completion policy such a task runs on, as on OpenPAI. An end of the job does not make it a
# failure: it has then succeeded, and the policy counts it before an end from outside.

# "ROLE SLOT INDEX ATTEMPT" of each task whose commands have succeeded in its last attempt, by task.
declare -A PSL_SETTLED=()

# on_background ROLE SLOT INDEX ATTEMPT: note that the commands of a task have succeeded.
on_background() {
  [[ ${PSL_STATE[$1.$3]-} == running && ${PSL_ATTEMPTS[$1.$3]} == "$4" ]] || return 0
  PSL_SETTLED[$1.$3]=$*
  if [[ $PSL_OUTCOME ]]; then
    settle_task "$1.$3"
  fi
}

# is_settled TASK: succeed if an ended task has succeeded, whatever ended it.
is_settled() { [[ ${PSL_SETTLED[$1]-} && ${PSL_STATUS[$1]} == 0 ]]; }

# keep_settled TASK: let the exit of a settled task count at once, although it may have got TERM.
keep_settled() {
  if is_settled "$1"; then
    unset 'PSL_PROVISIONAL_UNTIL[$1]'
  fi
}

# settle_task TASK: end the task with success if its commands have succeeded, else fail.
settle_task() {
  [[ ${PSL_SETTLED[$1]-} && ${PSL_STATE[$1]} == running ]] || return
  # shellcheck disable=SC2086 # words
  on_exit ${PSL_SETTLED[$1]} 0 0 success 0
  # Its step still has the background processes.
  PSL_TERM_DUE[${1%.*}]=1
}

# settle_tasks: settle all tasks, in the order of the job file. Fail if there are none.
settle_tasks() {
  local role index
  ((${#PSL_SETTLED[@]})) || return
  for role in "${!PSL_ROLE_NAME[@]}"; do
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      settle_task "$role.$index"
    done
  done
  return 0
}

# complete_by_settled: before an end from outside, complete the job by the settled results. Fail if
# they do not suffice.
complete_by_settled() {
  settle_tasks || return
  accept_exits
  check_completion
  [[ $PSL_OUTCOME ]]
}

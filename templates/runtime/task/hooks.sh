# Run the hooks of a task, the scripts around its commands.
#
# Hooks come from prerequisites and plugins. PSL_HOOKS_BEFORE and PSL_HOOKS_AFTER of a role list
# them in their order, each as a word MOMENT.NUMBER.KIND.NAME.POLICY. The function
# MOMENT_NUMBER_of_role_ROLE has the text of the hook, and KIND is prerequisite or plugin.
# Source: OpenPAI runtime; issue 5145 for exports and containerExit, and for what is done after a
# failure (alerts, uploads of logs), which is our moment `failure`.

# run_hook ATTEMPT WORD: run one hook, and return its status if that fails the task.
# A hook stops at its first failing command. With the policy ignore it goes on, and counts as
# successful. What a hook prints is in a log of its own, because the exit specification is about
# what the commands print.
run_hook() {
  local attempt=$1 moment number kind name policy file status=0 began
  local -a options=(-e)
  IFS=. read -r moment number kind name policy <<<"$2"
  file=$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.$moment.$number.sh
  if [[ $policy != fail ]]; then
    options=()
  fi
  read_clock
  began=$PSL_NOW
  if [[ $moment == start ]]; then
    run_and_take_exports "$file" ${options[@]+"${options[@]}"} || status=$?
  else
    options+=(--)
    run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" "${options[@]}" || status=$?
  fi
  record_script "$attempt" "$moment" "$status" "$began" "$name"
  ((status)) || return 0
  if [[ $policy == ignore || $moment == exit || $moment == failure ]]; then
    log "$name ended with status $status ($moment), which has no effect" 2>>"$PSL_STDERR_LOG"
    return 0
  fi
  note_failed_hook "$moment" "$kind" "$name" "$status"
  return "$status"
}

# note_failed_hook MOMENT KIND NAME STATUS: note that this hook fails the task.
note_failed_hook() {
  # Only the barrier of the plugin ssh ends with this status.
  if [[ $2.$3:$4 == plugin.ssh:10 ]]; then
    PSL_CODE_OF_SCRIPT='249 permanent'
  fi
  if ((!PSL_STOPPED)); then
    log "error: $3 failed with status $4 ($1); what it printed is in $PSL_RUNTIME_LOG" \
      2>>"$PSL_STDERR_LOG"
    PSL_FAILED_SCRIPT="$1 $2 $3"
  fi
}

# run_and_take_exports SCRIPT OPTION ...: run a start hook, and keep the variables that it exports.
# At its end the hook's bash prints them, for the hooks and commands that follow. They pass through
# a file without a name, because they may hold secrets. Variables of that bash itself stay there.
run_and_take_exports() {
  local file=$1 status=0 out in print code
  exec {out}>"$PSL_RUNTIME_LOG.exports" || return
  exec {in}<"$PSL_RUNTIME_LOG.exports"
  rm -f -- "$PSL_RUNTIME_LOG.exports"
  print="(export -n PWD OLDPWD SHLVL SHELLOPTS BASHOPTS UID EUID PPID _; set -o posix; export -p)"
  print+=" >&$out"
  # The hook may set an EXIT trap of its own, or call exit.
  code="trap '$print' EXIT; source \"\$0\"; $print"
  run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" "${@:2}" -c "$code" || status=$?
  IFS= read -r -d '' PSL_EXPORTS <&"$in"
  exec {out}>&- {in}<&-
  return "$status"
}

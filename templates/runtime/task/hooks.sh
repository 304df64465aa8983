# What a task runs: the scripts of prerequisites and plugins, and between them the commands.
#
# PSL_HOOKS_BEFORE and PSL_HOOKS_AFTER of a role list the scripts in their order, each a word MOMENT.NUMBER.KIND.NAME.POLICY: it stands
# in the function MOMENT_NUMBER_of_role_ROLE, and KIND is prerequisite or plugin. Source: OpenPAI runtime; issue 5145 for
# exports and containerExit.

# A script stops at its first failing command, unless failures are ignored: then it goes on, and has succeeded. All that it
# prints is in a log of its own, since the exit specification is about what the commands print.
run_script() {
  local attempt=$1 moment number kind name policy file status=0 began
  local -a options=(-e)
  IFS=. read -r moment number kind name policy <<<"$2"
  file=$PSL_ATTEMPT_FOLDER/commands/${PSL_ROLE_FOLDER[PSL_ROLE]}.$moment.$number.sh
  [[ $policy == fail ]] || options=()
  read_clock
  began=$PSL_NOW
  if [[ $moment == start ]]; then
    run_and_take_exports "$file" ${options[@]+"${options[@]}"} || status=$?
  else
    run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" ${options[@]+"${options[@]}"} -- || status=$?
  fi
  record_script "$attempt" "$moment" "$status" "$began" "$name"
  ((status)) || return 0
  if [[ $policy == ignore || $moment == exit ]]; then
    log "$name ended with status $status ($moment), which changes nothing" 2>>"$PSL_STDERR_LOG"
    return 0
  fi
  # Only the barrier of the plugin ends so.
  if [[ $kind.$name:$status == plugin.ssh:10 ]]; then
    PSL_CODE_OF_SCRIPT='249 permanent'
  fi
  if ((!PSL_STOPPED)); then
    log "error: $name failed with status $status ($moment); what it printed is in $PSL_RUNTIME_LOG" 2>>"$PSL_STDERR_LOG"
    PSL_FAILED_SCRIPT="$moment $kind $name"
  fi
  return "$status"
}

# Run a script in a bash that prints its exported variables at its end, and keep them for the scripts that follow. They
# pass through a file without a name, since they may hold secrets; where a script stands and how deep is its own affair.
run_and_take_exports() {
  local file=$1 status=0 out in print code
  exec {out}>"$PSL_REPORT_FILE.exports" || return
  exec {in}<"$PSL_REPORT_FILE.exports"
  rm -f -- "$PSL_REPORT_FILE.exports"
  print="(export -n PWD OLDPWD SHLVL SHELLOPTS BASHOPTS UID EUID PPID _; set -o posix; export -p) >&$out"
  # The script may set an EXIT trap of its own, or exit.
  code="trap '$print' EXIT; source \"\$0\"; $print"
  run_bash "$PSL_RUNTIME_LOG" "$PSL_RUNTIME_LOG" "$file" "${@:2}" -c "$code" || status=$?
  IFS= read -r -d '' PSL_EXPORTS <&"$in"
  exec {out}>&- {in}<&-
  return "$status"
}

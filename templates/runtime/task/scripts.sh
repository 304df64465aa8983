# What a task runs: the scripts of prerequisites and plugins, and between them the commands.
#
# BEFORE and AFTER of a role list the scripts in their order, each a word MOMENT.NUMBER.KIND.NAME.POLICY: it stands
# in the function MOMENT_NUMBER_of_role_ROLE, and KIND is prerequisite or plugin. Source: OpenPAI runtime; issue 5145 for
# exports and containerExit.

# What runs at the start can fail the task, and so can what runs after success; what runs at any end changes nothing,
# and of a task that is stopped it has the time up to KILL: a second TERM, by Slurm or by us, is not passed on to it.
run_scripts() {
  local attempt=$1 status=0 word began
  EXPORTS='' CODE_OF_SCRIPT='' FAILED_SCRIPT=''
  for word in ${BEFORE[ROLE]-}; do
    ((!STOPPED)) || break
    run_script "$attempt" "$word" || { status=$?; break; }
  done
  if ((STOPPED)); then
    status=143
  elif ((status == 0)); then
    read_clock
    began=$NOW
    run_commands || status=$?
    record_script "$attempt" commands "$status" "$began" -
  fi
  for word in ${AFTER[ROLE]-}; do
    case $word in
      success.*) ((status || STOPPED)) || run_script "$attempt" "$word" || status=$? ;;
      exit.*) ENDING=1; run_script "$attempt" "$word"; ENDING='' ;;
    esac
  done
  return "$status"
}

# A script stops at its first failing command, unless failures are ignored: then it goes on, and has succeeded. All that it
# prints is in a log of its own, since the exit specification is about what the commands print.
run_script() {
  local attempt=$1 moment number kind name policy file status=0 began
  local -a options=(-e)
  IFS=. read -r moment number kind name policy <<<"$2"
  file=$ATTEMPT_FOLDER/commands/${ROLE_FOLDER[ROLE]}.$moment.$number.sh
  [[ $policy == fail ]] || options=()
  read_clock
  began=$NOW
  if [[ $moment == start ]]; then
    run_and_take_exports "$file" ${options[@]+"${options[@]}"} || status=$?
  else
    run_bash "$RUNTIME_LOG" "$RUNTIME_LOG" "$file" ${options[@]+"${options[@]}"} -- || status=$?
  fi
  record_script "$attempt" "$moment" "$status" "$began" "$name"
  ((status)) || return 0
  if [[ $policy == ignore || $moment == exit ]]; then
    say "$name ended with status $status ($moment), which changes nothing" 2>>"$STDERR_LOG"
    return 0
  fi
  # Only the barrier of the plugin ends so.
  [[ $kind.$name:$status != plugin.ssh:10 ]] || CODE_OF_SCRIPT='249 permanent'
  if ((!STOPPED)); then
    say "error: $name failed with status $status ($moment); what it printed is in $RUNTIME_LOG" 2>>"$STDERR_LOG"
    FAILED_SCRIPT="$moment $kind $name"
  fi
  return "$status"
}

# Run a script in a bash that prints its exported variables at its end, and keep them for the scripts that follow. They
# pass through a file without a name, since they may hold secrets; where a script stands and how deep is its own affair.
run_and_take_exports() {
  local file=$1 status=0 out in print code
  exec {out}>"$REPORTS.exports" || return
  exec {in}<"$REPORTS.exports"
  rm -f -- "$REPORTS.exports"
  print="(export -n PWD OLDPWD SHLVL SHELLOPTS BASHOPTS UID EUID PPID _; set -o posix; export -p) >&$out"
  # The script may set an EXIT trap of its own, or exit.
  code="trap '$print' EXIT; source \"\$0\"; $print"
  run_bash "$RUNTIME_LOG" "$RUNTIME_LOG" "$file" "${@:2}" -c "$code" || status=$?
  IFS= read -r -d '' EXPORTS <&"$in"
  exec {out}>&- {in}<&-
  return "$status"
}

# One line for each script that ran: ATTEMPT MOMENT STATUS BEGAN ENDED NAME.
record_script() {
  [[ ${BEFORE[ROLE]-}${AFTER[ROLE]-} ]] || return 0
  read_clock
  printf '%s %s %s %s %s %s\n' "$1" "$2" "$3" "$4" "$NOW" "$5" >>"$SCRIPTS_LOG"
}

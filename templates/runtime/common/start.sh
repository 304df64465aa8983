# Start each part of the job alike: in bash's own mode, apart from the environment of who submitted it.

# start_up ARGUMENT ...: those of the script. The submitting shell may have left in the environment how it runs itself: with
# -p bash takes no options, functions or start file from there. Functions pass through to the commands, options do not.
# Source: bash(1), -p.
start_up() {
  if [[ $- != *p* ]]; then
    exec bash -p "$0" "$@"
  fi
  export -n SHELLOPTS BASHOPTS
  unset -v BASH_COMPAT BASH_ENV ENV EUID PS4 TMOUT UID 2>/dev/null
  umask 0077
  note_lowercase_exports
  set_defaults
}

# A local variable of bash takes over the export attribute of one outside that has its name, and would reach the commands
# with a value of ours. Note what is exported under such names; exec_with_exports gives it to the commands.
note_lowercase_exports() {
  local PSL_NAME
  PSL_LOWERCASE_EXPORTS=()
  for PSL_NAME in "${!a@}" "${!b@}" "${!c@}" "${!d@}" "${!e@}" "${!f@}" "${!g@}" "${!h@}" "${!i@}" \
    "${!j@}" "${!k@}" "${!l@}" "${!m@}" "${!n@}" "${!o@}" "${!p@}" "${!q@}" "${!r@}" "${!s@}" \
    "${!t@}" "${!u@}" "${!v@}" "${!w@}" "${!x@}" "${!y@}" "${!z@}"; do
    PSL_LOWERCASE_EXPORTS+=("$PSL_NAME=${!PSL_NAME-}")
  done
}

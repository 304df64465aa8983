# Start each part of the job apart from the user's environment. The submitting shell may have left
# settings of bash there.

# BASH_ENV names a start file for every bash. No bash of this script reads it, but those of the
# commands do: PAISLURM_BASH_ENV keeps the value for them, see exec_with_exports.

# start_up ARGUMENT ...: prepare this bash; the arguments are those of the script. With -p, bash
# takes no options, functions or start file from the environment. Functions still reach the
# commands, options do not.
# Source: bash(1), -p.
start_up() {
  if [[ $- != *p* ]]; then
    exec bash -p "$0" "$@"
  fi
  export -n SHELLOPTS BASHOPTS
  if [[ ${BASH_ENV-} ]]; then
    export PAISLURM_BASH_ENV=$BASH_ENV
  fi
  unset -v BASH_COMPAT BASH_ENV ENV EUID PS4 TMOUT UID 2>/dev/null
  umask 0077
  note_lowercase_exports
  set_defaults
}

# Note the exported variables with lowercase names, in PSL_LOWERCASE_EXPORTS. A local variable of
# bash takes over the export attribute of an exported one of the same name: the commands would get
# this script's value. exec_with_exports gives them the user's values.
note_lowercase_exports() {
  local PSL_NAME
  PSL_LOWERCASE_EXPORTS=()
  for PSL_NAME in "${!a@}" "${!b@}" "${!c@}" "${!d@}" "${!e@}" "${!f@}" "${!g@}" "${!h@}" "${!i@}" \
    "${!j@}" "${!k@}" "${!l@}" "${!m@}" "${!n@}" "${!o@}" "${!p@}" "${!q@}" "${!r@}" "${!s@}" \
    "${!t@}" "${!u@}" "${!v@}" "${!w@}" "${!x@}" "${!y@}" "${!z@}"; do
    PSL_LOWERCASE_EXPORTS+=("$PSL_NAME=${!PSL_NAME-}")
  done
}

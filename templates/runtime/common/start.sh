# Isolate each part of the job from bash settings in the submitting shell's environment.

# BASH_ENV names a start file for every bash. This script does not read it, but the commands' bash
# does: PAISLURM_BASH_ENV keeps its value, see exec_with_exports.

# start_up ARGUMENT ...: prepare this bash; the arguments are those of the script. With -p, bash
# imports no options, functions or start file from the environment. The commands inherit the
# functions, but not the options.
# Source: bash(1), -p.
start_up() {
  if [[ $- != *p* ]]; then
    exec bash -p "$0" "$@"
  fi
  export -n SHELLOPTS BASHOPTS
  if [[ ${BASH_ENV-} ]]; then
    export PAISLURM_BASH_ENV=$BASH_ENV
  fi
  # With the submitting shell's SLURM_JWT, srun cannot reach nodes, and the commands would get it.
  unset -v BASH_COMPAT BASH_ENV ENV EUID PS4 SLURM_JWT TMOUT UID 2>/dev/null
  # For a run by hand, which has no recorded umask.
  if [[ ${1-} != --* ]]; then
    PSL_UMASK=$(umask)
  fi
  umask 0077
  note_lowercase_exports
  set_defaults
}

# set_user_umask: set the umask of the shell that submitted the job, just before the user's code.
set_user_umask() { umask "$PSL_UMASK"; }

# note_lowercase_exports: save the exported variables with lowercase names in PSL_LOWERCASE_EXPORTS.
# A local variable of bash inherits the export attribute of its name, so the commands would get this
# script's value. exec_with_exports restores the user's values.
note_lowercase_exports() {
  local PSL_NAME
  PSL_LOWERCASE_EXPORTS=()
  for PSL_NAME in "${!a@}" "${!b@}" "${!c@}" "${!d@}" "${!e@}" "${!f@}" "${!g@}" "${!h@}" "${!i@}" \
    "${!j@}" "${!k@}" "${!l@}" "${!m@}" "${!n@}" "${!o@}" "${!p@}" "${!q@}" "${!r@}" "${!s@}" \
    "${!t@}" "${!u@}" "${!v@}" "${!w@}" "${!x@}" "${!y@}" "${!z@}"; do
    PSL_LOWERCASE_EXPORTS+=("$PSL_NAME=${!PSL_NAME-}")
  done
}

# What of the submitting shell's environment the job has, where extras.slurm.exportEnv says so: all that the job starts has
# its environment from this script.

# What bash, a login, and Slurm need. TaskProlog may have set some of them.
readonly LOGIN_ENV='_|PWD|OLDPWD|SHLVL|HOME|HOSTNAME|KRB5CCNAME|LANG|LANGUAGE|LC_*|LOGNAME|PATH|SHELL|TERM|TMPDIR|TZ|USER|'\
'XDG_RUNTIME_DIR|ENVIRONMENT|SLURM_*|SLURMD_*|_SLURM_*|PAISLURM_*'

# limit_exports ARGUMENT ...: start this script again without the rest, if there is any. Only env can take away functions,
# which bash passes on without having them. No command line has a value.
limit_exports() {
  [[ ${EXPORT_ENV+x} ]] || return 0
  # What is local here would hide an exported variable of that name.
  LEFT_OUT=()
  while IFS='=' read -r -d '' VALUE _; do
    [[ ! $VALUE ]] || is_kept "$VALUE" || LEFT_OUT+=("--unset=$VALUE")
  done </proc/self/environ
  ((${#LEFT_OUT[@]})) || return 0
  # What is under names of this script, another bash sets.
  # shellcheck disable=SC2016 # for that bash
  exec /usr/bin/env ${LEFT_OUT[@]+"${LEFT_OUT[@]}"} bash -p -c '
    while IFS= read -r -d ""; do export "$REPLY"; done <&3
    exec bash -p "$0" "$@" 3<&-' "$0" "$@" 3< <(print_kept_settings)
}

print_kept_settings() {
  local setting
  for setting in ${SUBMITTED[@]+"${SUBMITTED[@]}"}; do
    ! is_kept "${setting%%=*}" || printf '%s\0' "$setting"
  done
}

# is_kept NAME: of a variable, or as bash passes a function on.
is_kept() {
  local name=$1
  if [[ $name == BASH_FUNC_* ]]; then
    name=${name#BASH_FUNC_} name=${name%'%%'} name=${name%'()'}
    is_listed "$name"
  else
    # shellcheck disable=SC2053 # patterns
    [[ $name == @($LOGIN_ENV) ]] || is_listed "$name"
  fi
}

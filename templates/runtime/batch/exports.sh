# Limit what the job has of the submitting shell's environment to what extras.slurm.exportEnv says.

# What bash, a login, and Slurm need. TaskProlog may have set some of them.
readonly PSL_LOGIN_ENV='_|PWD|OLDPWD|SHLVL|HOME|HOSTNAME|KRB5CCNAME|LANG|LANGUAGE|LC_*|LOGNAME|PATH|'\
'SHELL|TERM|TMPDIR|TZ|USER|XDG_RUNTIME_DIR|ENVIRONMENT|SLURM_*|SLURMD_*|_SLURM_*|PAISLURM_*'

# limit_exports ARGUMENT ...: start this script again without the rest, if there is any. Only env can take away functions,
# which bash passes on without having them. No command line has a value. All that the job starts has its environment from
# this script.
limit_exports() {
  # What is local here would hide an exported variable of that name.
  PSL_LEFT_OUT=()
  while IFS='=' read -r -d '' PSL_VALUE _; do
    [[ ! $PSL_VALUE ]] || is_kept "$PSL_VALUE" || PSL_LEFT_OUT+=("--unset=$PSL_VALUE")
  done </proc/self/environ
  ((${#PSL_LEFT_OUT[@]})) || return 0
  exec /usr/bin/env ${PSL_LEFT_OUT[@]+"${PSL_LEFT_OUT[@]}"} bash -p "$0" "$@"
}

# is_kept NAME: of a variable, or as bash passes a function on.
is_kept() {
  local name=$1
  if [[ $name == BASH_FUNC_* ]]; then
    name=${name#BASH_FUNC_} name=${name%'%%'} name=${name%'()'}
    is_listed "$name"
  else
    # shellcheck disable=SC2053 # patterns
    [[ $name == @($PSL_LOGIN_ENV) ]] || is_listed "$name"
  fi
}

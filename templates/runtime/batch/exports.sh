# Limit the environment of the job to extras.slurm.exportEnv. The rest of the submitting shell's
# environment is left out.

# What bash, a login, and Slurm need. TaskProlog may have set some of them.
readonly PSL_LOGIN_ENV='_|PWD|OLDPWD|SHLVL|HOME|HOSTNAME|KRB5CCNAME|LANG|LANGUAGE|LC_*|LOGNAME|'\
'PATH|SHELL|TERM|TMPDIR|TZ|USER|XDG_RUNTIME_DIR|ENVIRONMENT|SLURM_*|SLURMD_*|_SLURM_*|PAISLURM_*'

# is_listed NAME: tell whether extras.slurm.exportEnv has this variable, or a pattern for it.
is_listed() {
  # shellcheck disable=SC2053 # patterns
  [[ $1 == @(${PSL_EXPORT_ENV-}) ]]
}

# limit_exports ARGUMENT ...: start this script again without the variables and functions that the
# job is not to have, if there are any. Only env can remove functions, which bash passes on without
# having them. No value appears on a command line. All that the job starts gets its environment from
# this script.
limit_exports() {
  is_listed BASH_ENV || unset -v PAISLURM_BASH_ENV
  # A local variable would hide an exported one of its name, so these are global.
  PSL_LEFT_OUT=()
  while IFS='=' read -r -d '' PSL_VALUE _; do
    if [[ $PSL_VALUE ]] && ! is_kept "$PSL_VALUE"; then
      PSL_LEFT_OUT+=("--unset=$PSL_VALUE")
    fi
  done </proc/self/environ
  ((${#PSL_LEFT_OUT[@]})) || return 0
  exec /usr/bin/env ${PSL_LEFT_OUT[@]+"${PSL_LEFT_OUT[@]}"} bash -p "$0" "$@"
}

# is_kept NAME: tell whether the job is to have a variable, or a function by the name that bash
# gives it in the environment.
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

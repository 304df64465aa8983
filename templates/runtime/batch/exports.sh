# Limit the job's share of the submitting shell's environment to extras.slurm.exportEnv.

# Variables that bash, a login and Slurm need. TaskProlog may have set some of them.
readonly PSL_LOGIN_ENV='_|PWD|OLDPWD|SHLVL|HOME|HOSTNAME|KRB5CCNAME|LANG|LANGUAGE|LC_*|LOGNAME|'\
'PATH|SHELL|TERM|TMPDIR|TZ|USER|XDG_RUNTIME_DIR|ENVIRONMENT|SLURM_*|SLURMD_*|_SLURM_*|PAISLURM_*'

# is_listed NAME: succeed if extras.slurm.exportEnv contains this variable or a matching pattern.
is_listed() {
  # shellcheck disable=SC2053 # patterns
  [[ $1 == @(${PSL_EXPORT_ENV-}) ]]
}

# limit_exports ARGUMENT ...: restart this script without the variables and functions that the job
# must not have, if any. Only env can remove functions: bash -p does not import them, but passes
# them on. No value appears on a command line. All processes of the job inherit this script's
# environment.
limit_exports() {
  is_listed BASH_ENV || unset -v PAISLURM_BASH_ENV
  # Global, because a local variable would hide an exported one of the same name.
  PSL_LEFT_OUT=()
  while IFS='=' read -r -d '' PSL_VALUE _; do
    if [[ $PSL_VALUE ]] && ! is_kept "$PSL_VALUE"; then
      PSL_LEFT_OUT+=("--unset=$PSL_VALUE")
    fi
  done </proc/self/environ
  ((${#PSL_LEFT_OUT[@]})) || return 0
  set_user_umask
  exec /usr/bin/env ${PSL_LEFT_OUT[@]+"${PSL_LEFT_OUT[@]}"} bash -p "$0" "$@"
}

# is_kept NAME: succeed if the job may have a variable, or a function under its name in the
# environment.
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

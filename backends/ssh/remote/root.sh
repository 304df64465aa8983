# Make the folder for all jobs submitted over SSH; print its path and the time.
set -eu
umask 077
root=${PAISLURM_HOME:-$HOME/.paislurm}/remote
mkdir -p -- "$root"
cd -P -- "$root"
if [[ ! -O . || $(stat -c %a .) != 700 ]]; then
  echo "$root is accessible to other users" >&2
  exit 73
fi
printf '%s\n' "$PWD" "$(date +%s.%N)"

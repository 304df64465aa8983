# Makes the folder of all jobs that come from elsewhere, and prints its path and the time there.
set -eu
umask 077
root=${PAISLURM_HOME:-$HOME/.paislurm}/remote
mkdir -p -- "$root"
cd -P -- "$root"
if [[ ! -O . || $(stat -c %a .) != 700 ]]; then
  echo "$root is not yours alone" >&2
  exit 73
fi
printf '%s\n' "$PWD" "$(date +%s.%N)"

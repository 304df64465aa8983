# Make the folder for all jobs submitted over SSH; print its path and the time.
set -eu
umask 077
root=${PAISLURM_HOME:-$HOME/.paislurm}/remote
[[ $root == /* ]] || root=$PWD/$root
make_private "$root"
if why=$(replaceable "$root"); then
  echo "others could replace $root, because $why" >&2
  exit 73
fi
cd -P -- "$root"
if [[ ! -O . ]] || ((8#$(stat -c %a .) & 8#77)); then
  echo "$root is accessible to other users" >&2
  exit 73
fi
printf '%s\n' "$PWD" "$(date +%s.%N)"

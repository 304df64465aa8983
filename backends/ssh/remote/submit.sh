# Calls sbatch once for a name, and prints what it printed and how it ended, now and whenever it is called again.
# Usage: submit FOLDER SECONDS LATEST COMMAND...
# FOLDER holds the answer. Who is called again waits for it for at most SECONDS. After LATEST, in seconds since 1970,
# nothing is called any more.
set -u
umask 077
answer=$1 seconds=$2 latest=$3
shift 3
if [[ ! -d $answer ]] && (($(date +%s) > latest)); then
  exit 74
fi
if ! words=$(mkdir -- "$answer" 2>&1); then
  # It is there, or there is no room for it: then nothing was called.
  if [[ ! -d $answer ]]; then
    echo "$words" >&2
    exit 73
  fi
else
  # In a session of its own: that a connection breaks does not end it.
  setsid --fork bash -c '
    answer=$1 seconds=$2; shift 2
    timeout "$seconds" "$@" >"$answer/stdout" 2>"$answer/stderr" </dev/null
    echo "$?" >"$answer/status.new"
    mv -- "$answer/status.new" "$answer/status"
  ' submit "$answer" "$seconds" "$@" </dev/null >/dev/null 2>&1
fi
for ((tries = 0; tries < seconds * 20; tries++)); do
  if [[ -e $answer/status ]]; then
    cat -- "$answer/stdout"
    cat -- "$answer/stderr" >&2
    exit "$(<"$answer/status")"
  fi
  sleep 0.05
done
echo "sbatch has given no answer" >&2
exit 75

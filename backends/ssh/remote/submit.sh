# Call sbatch once. Print its output and exit with its status; a repeated call for the same FOLDER prints them again.
# Usage: submit FOLDER SECONDS LATEST COMMAND...
# FOLDER stores the output. A repeated call waits for it, at most SECONDS. After LATEST, in seconds since 1970, do not
# call sbatch any more.
set -u
mask=$(umask)
umask 077
answer=$1 seconds=$2 latest=$3
shift 3
if [[ ! -d $answer ]] && (($(date +%s) > latest)); then
  exit 74
fi
if ! words=$(mkdir -- "$answer" 2>&1); then
  # The folder exists, or the disk is full: then sbatch is not called.
  if [[ ! -d $answer ]]; then
    echo "$words" >&2
    exit 73
  fi
else
  # The tasks of all attempts use the umask of the login shell that submitted the first one.
  job=${answer%/attempts/*}
  [[ -e $job/umask ]] || echo "$mask" >"$job/umask"
  # In a new session: a broken connection does not end it.
  setsid --fork bash -c '
    answer=$1 seconds=$2; shift 2
    timeout "$seconds" "$@" >"$answer/stdout" 2>"$answer/stderr" </dev/null &
    called=$!
    # sbatch tries again by itself for two minutes; timeout also ends what a wrapper has started.
    { until [[ $(<"$answer/stderr") == *"sleeping and retrying"* ]]; do sleep 0.1; done; kill "$called"; } 2>/dev/null &
    wait "$called"
    echo "$?" >"$answer/status.new"
    kill "$!" 2>/dev/null
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
echo "sbatch timed out" >&2
exit 75

# The plugin git: a clone, tried ten times with pauses that double up to 300 s. Source: OpenPAI runtime, plugin git.
command -v git >/dev/null || { echo "there is no git here" >&2; exit 127; }
if [[ -e $DIRECTORY && $(ls -A -- "$DIRECTORY" 2>&1) ]]; then
  printf '%s exists and is not an empty folder\n' "$DIRECTORY" >&2
  exit 1
fi
mapfile -t options <<<"$OPTIONS"
[[ $OPTIONS ]] || options=()
for pause in 1 2 4 8 16 32 64 128 256 ''; do
  ! GIT_TERMINAL_PROMPT=0 git clone ${options[@]+"${options[@]}"} -- "$REPOSITORY" "$DIRECTORY" || exit 0
  [[ ! $pause ]] || sleep "$pause"
done
exit 1

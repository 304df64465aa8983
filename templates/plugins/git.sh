# The plugin git: a clone, tried ten times with pauses that double up to 300 s. Source: OpenPAI runtime, plugin git.
command -v git >/dev/null || { echo "there is no git here" >&2; exit 127; }
if [[ -e $DIRECTORY && $(ls -A -- "$DIRECTORY" 2>&1) ]]; then
  printf '%s exists and is not an empty folder\n' "$DIRECTORY" >&2
  exit 1
fi
mapfile -t options <<<"$OPTIONS"
[[ $OPTIONS ]] || options=()

# A name and a password in the address stand on no command line, of git or of what it starts, and in no configuration: git finds
# them in a file beside the task's bell, for as long as the task is there, and for what the commands do with the clone, too.
address=$REPOSITORY settings=() kept=()
decoded() { local text=${1//\\/\\\\}; printf '%b' "${text//%/\\x}"; }
if [[ $REPOSITORY =~ ^(https?://)([^/@]*)@(.*)$ ]]; then
  address=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
  server=credential.${BASH_REMATCH[1]}${BASH_REMATCH[3]%%/*}
  words=${BASH_REMATCH[2]}:
  file=$(mktemp "$PAISLURM_BELL.git.XXXXXX") || exit
  user=$(decoded "${words%%:*}") words=${words#*:}
  printf 'username=%s\npassword=%s\n' "$user" "$(decoded "${words%:}")" >"$file" || exit
  for setting in "$server.helper=" "$server.helper=!cat $file; :"; do
    settings+=(-c "$setting") kept+=(--config "$setting")
  done
fi

clone() {
  GIT_TERMINAL_PROMPT=0 git ${settings[@]+"${settings[@]}"} \
    clone ${kept[@]+"${kept[@]}"} ${options[@]+"${options[@]}"} -- "$address" "$DIRECTORY"
}

for pause in 1 2 4 8 16 32 64 128 256 ''; do
  if clone; then
    exit 0
  fi
  if [[ $pause ]]; then
    sleep "$pause"
  fi
done
exit 1
